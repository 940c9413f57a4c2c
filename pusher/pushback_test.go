package pusher

import (
	"testing"
	"testing/synctest"
	"time"
)

// refusals lets n pushes begin and be refused, and returns the last one's wait.
func (b *pushback) refusals(n int) (atLeast time.Duration) {
	time.Sleep(time.Millisecond)
	for began := time.Now(); n > 0; n-- {
		atLeast = b.refuse(began, 0)
	}
	return atLeast
}

func (b *pushback) successes(n int) {
	for range n {
		b.accept()
	}
}

func TestARoundOfRefusalsIsOneStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newPushback()
		want := minPushBackoff
		for range 3 {
			atLeast := b.refusals(10)
			if atLeast < want*8/10 || atLeast > want*12/10 || atLeast < minPushBackoff {
				t.Errorf("backoff %v, want about %v", atLeast, want)
			}
			if until := time.Until(b.until); until != atLeast {
				t.Errorf("closed for %v, want %v", until, atLeast)
			}
			want *= 2
		}
	})
}

func TestTheBackoffStaysInItsBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newPushback()
		for range 1000 {
			d := b.refusals(1)
			if d < minPushBackoff || d > maxPushBackoff {
				t.Fatalf("backoff %v, want %v to %v", d, minPushBackoff, maxPushBackoff)
			}
			time.Sleep(d)
		}
		if d := b.refusals(1); d < maxPushBackoff*8/10 {
			t.Errorf("backoff %v after 1,000 refusals", d)
		}
		b.successes(1)
		if d := b.refusals(1); d > minPushBackoff*12/10 {
			t.Errorf("backoff %v after a success, want it to begin again", d)
		}
	})
}

func TestOneRefusalAmongSuccessesPausesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newPushback()
		b.successes(20)
		if d := b.refusals(1); d != 0 || time.Now().Before(b.until) {
			t.Errorf("backoff %v, closed until %v", d, b.until)
		}
		if d := b.refusals(9); d == 0 {
			t.Error("no backoff when most are refused")
		}
	})
}

// One message that is told to wait waits alone; when most are, all do.
func TestRetryAfterPausesAllOnceMostAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newPushback()
		b.successes(20)
		if d := b.refuse(time.Now(), time.Minute); d != time.Minute || time.Now().Before(b.notBefore()) {
			t.Errorf("the message waits %v, all until %v", d, b.notBefore())
		}
		b.refusals(9)
		if d := b.refuse(time.Now(), time.Minute); d != time.Minute || time.Until(b.notBefore()) != time.Minute {
			t.Errorf("the message waits %v, all for %v", d, time.Until(b.notBefore()))
		}
		if d := b.refuse(time.Now(), 0); d >= time.Minute || time.Until(b.notBefore()) != time.Minute {
			t.Errorf("another message waits %v, all for %v", d, time.Until(b.notBefore()))
		}
	})
}
