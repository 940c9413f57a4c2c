package redisstream_test

import (
	"maps"
	"strconv"
	"testing"
	"time"

	"postrider/storage/redisstream"
	"postrider/storage/redistest"
	"postrider/subscriptions"
)

// TestCallsDoNotGrow: what a publish, a lease and an ack make Redis do does not depend on how much is undelivered.
func TestCallsDoNotGrow(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.URL(), redisstream.Options{})
	empty, full := attach(t, s, "empty"), attach(t, s, "full")
	full.publish(1000)
	for range 19 {
		full.publish(1000)
	}
	for _, n := range []int{1, 100} {
		few, many := callsOfRound(server, empty, n), callsOfRound(server, full, n)
		for _, calls := range []redistest.Calls{few, many} {
			delete(calls, "xtrim") // the log that is empty afterwards is trimmed at once, the other one now and then
		}
		if !maps.Equal(few, many) {
			t.Errorf("%d messages a call: %v on an empty topic, %v on a full one", n, few, many)
		}
	}
}

// callsOfRound is what Redis runs for a publish, a lease and an ack.
func callsOfRound(server *redistest.Server, x *sub, n int) redistest.Calls {
	x.Helper()
	x.publish(1)
	x.ack(x.lease(1)...) // the scripts are known, and nothing is leased
	before := server.CommandCalls(x)
	x.publish(n)
	ds := x.lease(n)
	if len(ds) != n {
		x.Fatalf("leased %d messages, want %d", len(ds), n)
	}
	x.ack(ds...)
	return server.CommandCalls(x).Since(before)
}

// TestNothingOldIsNotSearched: where a stream holds nothing before a time, XREVRANGE goes through all of it to find that
// out, a third of a second for a million entries. So a lease does not ask it unless there is something.
func TestNothingOldIsNotSearched(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	x := attach(t, open(t, server.URL(), redisstream.Options{}), "topic") // its cursor is older than any retention
	x.publish(10)
	x.lease(1)
	_, err := x.store.Sweep(t.Context(), subscriptions.SweepRequest{Ref: x.ref, Rules: x.rules})
	x.ok(err)
	if calls := server.CommandCalls(t); calls["xrevrange"] > 0 {
		t.Errorf("XREVRANGE was called: %v", calls)
	}
}

// TestOneScriptACall: a call is one round trip, and within the script the calls that depend on the number of messages are
// the appends alone.
func TestOneScriptACall(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	x := attach(t, open(t, server.URL(), redisstream.Options{}), "topic")
	one, hundred := callsOfRound(server, x, 1), callsOfRound(server, x, 100)
	if one["evalsha"] != 3 || hundred["evalsha"] != 3 {
		t.Errorf("scripts: %v, %v", one, hundred)
	}
	if hundred["xadd"] != 100 {
		t.Errorf("%d appends for 100 messages", hundred["xadd"])
	}
	delete(one, "xadd")
	delete(hundred, "xadd")
	if !maps.Equal(one, hundred) {
		t.Errorf("besides appends: %v for one message, %v for a hundred", one, hundred)
	}
}

// TestScriptsAreBounded: however much a caller asks for, and however large messages are, a script handles about 200 of them
// and about 1 MB.
func TestScriptsAreBounded(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.Shared(t).URL(), redisstream.Options{})
	small := attach(t, s, "small")
	small.publish(1000)
	result := small.leaseResult(1000)
	if len(result.Deliveries) != 200 || !result.More {
		t.Errorf("leased %d messages, more is %v", len(result.Deliveries), result.More)
	}
	large := attach(t, s, "large")
	msgs := make([]subscriptions.Message, 3)
	for i := range msgs {
		msgs[i].Data = make([]byte, 400_000)
	}
	for range 4 {
		_, err := s.Publish(t.Context(), large.topic, msgs)
		large.ok(err)
	}
	for left := 12; left > 0; {
		result := large.leaseResult(1000)
		if n := len(result.Deliveries); n != 2 || result.More != (left > 2) {
			t.Fatalf("leased %d messages of 400 kB, more is %v", n, result.More)
		}
		left -= 2
	}
}

// TestLargestPublish is the largest request that there may be, in one step.
func TestLargestPublish(t *testing.T) {
	t.Parallel()
	x := attach(t, open(t, redistest.Shared(t).URL(), redisstream.Options{}), "topic")
	msgs := make([]subscriptions.Message, 1000)
	for i := range msgs {
		msgs[i].Data = make([]byte, 10_000)
	}
	ids, err := x.store.Publish(t.Context(), x.topic, msgs)
	x.ok(err)
	if len(ids) != 1000 || ids[999].N() != 1000 {
		t.Errorf("%d ids, the last is %s", len(ids), ids[len(ids)-1])
	}
	_, err = x.store.Publish(t.Context(), x.topic, []subscriptions.Message{{Data: make([]byte, 10_000_000)}})
	x.ok(err)
	got := 0
	for more := true; more; {
		result := x.leaseResult(1000)
		got += len(result.Deliveries)
		x.ack(result.Deliveries...)
		more = result.More
	}
	if got != 1001 {
		t.Errorf("%d messages came, want 1001", got)
	}
}

// TestFilterCalls: a filter costs two round trips more for a page that is passed over, and one without anything to look at.
func TestFilterCalls(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	x := attach(t, open(t, server.URL(), redisstream.Options{}), "topic")
	x.rules.Match = matching(t, "attributes:a")
	x.publish(1)
	x.lease(10) // the scripts are known, and the cursor is younger than the retention
	calls := func(publish int) redistest.Calls {
		if publish > 0 {
			x.publish(publish)
		}
		before := server.CommandCalls(t)
		x.lease(10)
		return server.CommandCalls(t).Since(before)
	}
	idle, passed, many := calls(0), calls(1), calls(90)
	if idle["evalsha"] != 2 || idle["xrange"] != 0 {
		t.Errorf("with nothing ahead: %v", idle)
	}
	if passed["evalsha"] != 2 || passed["xrange"] != 1 {
		t.Errorf("with one message ahead: %v", passed)
	}
	delete(many, "xtrim") // the log is emptied each time, by as many calls as it takes
	delete(passed, "xtrim")
	if !maps.Equal(passed, many) {
		t.Errorf("%v for one message, %v for many", passed, many)
	}
}

// TestSurveysLookAtFewBlockedKeys: an endpoint that is down blocks as many keys as there are. A survey counts some.
func TestSurveysLookAtFewBlockedKeys(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	x := attach(t, open(t, server.URL(), redisstream.Options{}), "topic")
	x.rules.Ordered = true
	survey := func() (blocked subscriptions.BlockedKeys, calls int64) {
		before := server.CommandCalls(t)
		v, err := x.store.Survey(t.Context(), x.ref.Topic, []string{x.ref.Subscription})
		x.ok(err)
		return v.Subscriptions[0].Blocked, server.CommandCalls(t).Since(before).Total()
	}
	survey() // the script is known
	_, none := survey()
	for i := range 200 {
		msg := subscriptions.Message{Data: []byte("x"), OrderingKey: strconv.Itoa(i)}
		_, err := x.store.Publish(t.Context(), x.topic, []subscriptions.Message{msg, msg}) // a queue of two
		x.ok(err)
	}
	var nacks []subscriptions.Nack
	for _, d := range x.lease(200) {
		nacks = append(nacks, subscriptions.Nack{Receipt: d.Receipt(), AtLeast: time.Hour})
	}
	_, err := x.store.Nack(t.Context(), subscriptions.NackRequest{Ref: x.ref, Rules: x.rules, Nacks: nacks})
	x.ok(err)
	blocked, many := survey()
	if blocked.Keys != subscriptions.MaxSurveyedKeys || !blocked.More {
		t.Errorf("blocked are %+v", blocked)
	}
	// Each key that is looked at costs two commands, and there is one more, and the first one's reason.
	if most := none + 2*(subscriptions.MaxSurveyedKeys+1) + 1; many > most {
		t.Errorf("a survey runs %d commands with 100 and more keys blocked, %d without, want at most %d", many, none, most)
	}
}
