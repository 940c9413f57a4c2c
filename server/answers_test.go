package server

import (
	"testing"

	"pgregory.net/rapid"

	"postrider/server/api"
	"postrider/server/wire"
	"postrider/subscriptions"
)

// apiReceived is what pullAnswer writes, as the generated messages.
func apiReceived(got []subscriptions.Received) []api.ReceivedMessage {
	out := make([]api.ReceivedMessage, len(got))
	for i, r := range got {
		out[i] = api.ReceivedMessage{
			AckID:           r.AckID,
			DeliveryAttempt: wire.Int32(r.Attempt),
			Message: &api.PubsubMessage{
				Data:        r.Message.Data,
				Attributes:  r.Message.Attributes,
				MessageID:   r.Message.ID.String(),
				PublishTime: wire.NewTimestamp(r.Message.PublishTime()),
				OrderingKey: r.Message.OrderingKey,
			},
		}
	}
	return out
}

// sameAsCodec compares an answer with what the codec writes of the generated message.
func sameAsCodec(t *rapid.T, got []byte, err error, message any) {
	want, wantErr := wire.Marshal(message)
	if (err != nil) != (wantErr != nil) || err == nil && string(got) != string(want) {
		t.Fatalf("wrote %s, %v\nnot %s, %v", got, err, want, wantErr)
	}
}

func TestAnswersAreThoseOfTheCodec(t *testing.T) {
	t.Parallel()
	number := rapid.Int64Range(0, 1<<48)
	id := rapid.Custom(func(t *rapid.T) subscriptions.MessageID {
		return subscriptions.MessageID{Milli: number.Draw(t, "milli"), Seq: number.Draw(t, "seq")}
	})
	// Texts of any bytes, so that some are not UTF-8, and others need escapes.
	text := rapid.OneOf(rapid.String(), rapid.StringMatching(`["\\<>&\x00-\x1f]{0,3}`), rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 3), func(b []byte) string { return string(b) }))
	received := rapid.Custom(func(t *rapid.T) subscriptions.Received {
		return subscriptions.Received{
			AckID:   rapid.StringMatching(`[A-Za-z0-9_-]{1,60}`).Draw(t, "ack id"),
			Attempt: rapid.IntRange(0, 3).Draw(t, "attempt"),
			Message: subscriptions.Message{
				ID: id.Draw(t, "id"), Data: rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "data"),
				Attributes:  rapid.MapOfN(text, text, 0, 3).Draw(t, "attributes"),
				OrderingKey: rapid.OneOf(rapid.Just(""), text).Draw(t, "key"),
			},
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfN(id, 1, 3).Draw(t, "ids")
		got, err := publishAnswer(ids).append(nil)
		texts := make([]string, len(ids))
		for i, id := range ids {
			texts[i] = id.String()
		}
		sameAsCodec(t, got, err, api.PublishResponse{MessageIDs: texts})

		all := rapid.SliceOfN(received, 1, 3).Draw(t, "received")
		got, err = pullAnswer{received: all}.append(nil)
		sameAsCodec(t, got, err, api.PullResponse{ReceivedMessages: apiReceived(all)})
	})
}
