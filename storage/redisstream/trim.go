package redisstream

import "context"

var trimScript = newScript("trim", with(onTopic, "trim_log")...)

// Trim implements subscriptions.Log.
func (s *Store) Trim(ctx context.Context, uid string) (more bool, err error) {
	reply, err := s.run(ctx, trimScript, s.keys.topicSlot(uid)[:4], s.now())
	if err != nil {
		return false, err
	}
	f := fields{name: "trim", rest: reply}
	return f.int() == 1, f.err
}
