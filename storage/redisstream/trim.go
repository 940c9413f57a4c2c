package redisstream

import "context"

var trimScript = newScript("trim", with(onTopic, "trim_log", "taken")...)

// Trim implements subscriptions.Log.
func (s *Store) Trim(ctx context.Context, uid string) (more bool, err error) {
	reply, err := s.run(ctx, trimScript, s.keys.topicSlot(uid), s.now(), wholeMillis(rememberTaken))
	if err != nil {
		return false, err
	}
	f := fields{name: "trim", rest: reply}
	return f.int() == 1, f.err
}
