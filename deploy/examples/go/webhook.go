package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxAge is how old a signature may be, so that one that was recorded is of no use later.
const maxAge = 5 * time.Minute

// verifyWebhook checks a signature of Standard Webhooks (https://www.standardwebhooks.com): one of the sender's secrets must be
// one of ours.
func verifyWebhook(h http.Header, body []byte, secrets []string) error {
	seconds, err := strconv.ParseInt(h.Get("webhook-timestamp"), 10, 64)
	if err != nil {
		return errors.New("there is none")
	}
	if age := time.Since(time.Unix(seconds, 0)); age > maxAge || age < -maxAge {
		return errors.New("it is too old, or of the future")
	}
	for _, secret := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil {
			return errors.New("a secret of ours is not base64")
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(h.Get("webhook-id") + "." + h.Get("webhook-timestamp") + "."))
		mac.Write(body)
		want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
		for _, signature := range strings.Fields(h.Get("webhook-signature")) {
			if hmac.Equal([]byte(signature), []byte(want)) {
				return nil
			}
		}
	}
	return errors.New("it is not by a secret of ours")
}
