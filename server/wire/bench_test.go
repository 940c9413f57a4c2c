package wire_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"postrider/server/api"
	"postrider/server/wire"
)

// hundredMessages is the size of batch that Google's client libraries publish by default.
func hundredMessages() []api.PubsubMessage {
	messages := make([]api.PubsubMessage, 100)
	for i := range messages {
		messages[i] = api.PubsubMessage{
			Data:       bytes.Repeat([]byte{byte(i), 0xff, 'x', 0x80}, 64),
			Attributes: map[string]string{"origin": fmt.Sprintf("web-%d", i)},
		}
	}
	return messages
}

func BenchmarkUnmarshalPublishRequest(b *testing.B) {
	body, err := wire.Marshal(api.PublishRequest{Messages: hundredMessages()})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		var request api.PublishRequest
		if err := (wire.Codec{}).UnmarshalRead(bytes.NewReader(body), &request); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMarshalPullResponse(b *testing.B) {
	var response api.PullResponse
	now := wire.NewTimestamp(time.Now())
	for i, m := range hundredMessages() {
		m.MessageID, m.PublishTime = fmt.Sprintf("1735689600123-%d", 10042+i), now
		response.ReceivedMessages = append(response.ReceivedMessages, api.ReceivedMessage{AckID: "AZk3c2VjcmV0bGVzcw", Message: &m})
	}
	b.ReportAllocs()
	for b.Loop() {
		body, err := wire.Marshal(response)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(body)))
	}
}
