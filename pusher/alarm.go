package pusher

import "time"

// alarm is one timer, set anew only when the time it is set to changes. The zero
// value is for use.
type alarm struct {
	timer *time.Timer
	set   time.Time
}

// at is a channel on which a token comes at t; nil when t is zero.
func (a *alarm) at(t time.Time) <-chan time.Time {
	if t.IsZero() {
		a.stop()
		return nil
	}
	switch {
	case a.timer == nil:
		a.timer = time.NewTimer(time.Until(t))
	case a.set != t || !t.After(time.Now()):
		a.timer.Reset(time.Until(t)) // what had come of the old time is gone
	}
	a.set = t
	return a.timer.C
}

func (a *alarm) stop() {
	if a.timer != nil {
		a.timer.Stop()
	}
	a.set = time.Time{}
}
