package proof

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"time"
)

// signWebhook signs a message as Standard Webhooks 1.0 say: HMAC-SHA256 over
// "id.timestamp.body", one signature for each key, so that a receiver that
// knows any of them is content. The time is that of the attempt, since receivers
// refuse old ones.
func signWebhook(h http.Header, keys [][]byte, id string, at time.Time, body []byte) {
	timestamp := strconv.FormatInt(at.Unix(), 10)
	var signatures []byte
	for i, key := range keys {
		mac := hmac.New(sha256.New, key)
		for _, part := range [][]byte{[]byte(id), {'.'}, []byte(timestamp), {'.'}, body} {
			mac.Write(part) // a hash returns no error
		}
		if i > 0 {
			signatures = append(signatures, ' ')
		}
		signatures = append(signatures, "v1,"...)
		signatures = base64.StdEncoding.AppendEncode(signatures, mac.Sum(nil))
	}
	h.Set("webhook-id", id)
	h.Set("webhook-timestamp", timestamp)
	h.Set("webhook-signature", string(signatures))
}
