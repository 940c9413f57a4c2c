package bench

import (
	"bytes"
	"encoding/base64"
	"math"
	"strings"
	"testing"
	"time"
)

func TestPercentile(t *testing.T) {
	t.Parallel()
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(100 - i)
	}
	for _, c := range []struct {
		values []float64
		p      float64
		want   float64
	}{
		{[]float64{7}, 50, 7},
		{[]float64{3, 1, 2}, 50, 2},
		{[]float64{3, 1, 2, 9}, 50, 2},
		{[]float64{3, 1, 2}, 0, 1},
		{[]float64{3, 1, 2}, 100, 3},
		{hundred, 50, 50},
		{hundred, 99, 99},
		{hundred, 99.5, 100},
		{hundred, 1, 1},
	} {
		if got := Percentile(c.values, c.p); got != c.want {
			t.Errorf("%v%% of %v: %v, want %v", c.p, c.values, got, c.want)
		}
	}
	if got := Percentile(nil, 50); !math.IsNaN(got) {
		t.Errorf("of nothing: %v", got)
	}
	if hundred[0] != 100 {
		t.Error("the values were sorted in place")
	}
}

func TestFormat(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		unit Unit
		v    float64
		want string
	}{
		{PerSecond, 7.4, "7/s"},
		{PerSecond, 999.6, "1,000/s"},
		{PerSecond, 1234567, "1,234,567/s"},
		{Micros, 0.456, "0.46 µs"},
		{Micros, 45.67, "45.7 µs"},
		{Millis, 456.7, "457 ms"},
		{Calls, 1.006, "1.01 calls"},
		{Calls, math.NaN(), "-"},
	} {
		if got := c.unit.format(c.v); got != c.want {
			t.Errorf("%v %v: %s, want %s", c.v, c.unit, got, c.want)
		}
	}
}

func TestTargets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		target      Target
		pair        Pair
		text, holds string
	}{
		{Target{}, Pair{1, 2}, "-", "-"},
		{RatioAtLeast(0.6), Pair{6, 10}, ">= 0.60", "yes"},
		{RatioAtLeast(0.6), Pair{5, 10}, ">= 0.60", "no"},
		{RatioAtMost(2.5), Pair{5, 2}, "<= 2.50", "yes"},
		{RatioAtMost(2.5), Pair{6, 2}, "<= 2.50", "no"},
		{MoreAtMost(3), Pair{6, 3}, "<= +3.00", "yes"},
		{MoreAtMost(3), Pair{7, 3}, "<= +3.00", "no"},
		{MoreAtMost(3), Pair{7, math.NaN()}, "<= +3.00", "-"},
	} {
		if got := c.target.text(); got != c.text {
			t.Errorf("%+v is %q", c.target, got)
		}
		if got := c.target.holds(c.target.by.of(c.pair)); got != c.holds {
			t.Errorf("%+v of %+v: %s", c.target, c.pair, got)
		}
	}
}

// The ratio is the median of the ratios, not the ratio of the medians.
func TestReportIsATable(t *testing.T) {
	t.Parallel()
	report := Report{Rows: []Row{
		{Name: "publishes", Floor: "bare", Unit: PerSecond, Target: RatioAtLeast(0.6), Fsync: "always",
			Pairs: []Pair{{500, 1000}, {900, 1000}, {700, 500}}},
		{Name: "not measured", Unit: Calls},
		{Name: "p99", Floor: "sum", Unit: Millis, Target: MoreAtMost(3), Pairs: []Pair{{7.5, 2}}},
		{Name: "calls", Floor: "XADD", Unit: Calls, Pairs: []Pair{{1.5, math.NaN()}}},
	}}
	const want = `
fsync   what       server      floor    the floor is  ratio  of the runs     target    holds
always  publishes  700/s       1,000/s  bare          0.90   0.50 to 1.40    >= 0.60   yes
-       p99        7.50 ms     2.00 ms  sum           +5.50  +5.50 to +5.50  <= +3.00  no
-       calls      1.50 calls  -        -             -      -               -         -
`
	var got strings.Builder
	if err := report.Write(&got); err != nil {
		t.Fatal(err)
	}
	if got.String() != want[1:] {
		t.Errorf("got\n%s", got.String())
	}
}

func TestAcknowledgement(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		answer, want string
		n            int
	}{
		{`{}`, `{"ackIds":[]}`, 0},
		{`{"receivedMessages":[{"ackId":"a_-1","message":{"data":"YWNrSWQ="}}]}`, `{"ackIds":["a_-1"]}`, 1},
		{"{\n  \"receivedMessages\": [\n    {\"message\": {}, \"ackId\" : \"a\"}, {\"ackId\": \"b\"}]}", `{"ackIds":["a","b"]}`, 2},
	} {
		got, n := acknowledgement(nil, []byte(c.answer))
		if string(got) != c.want || n != c.n {
			t.Errorf("%s: %s, %d", c.answer, got, n)
		}
	}
}

func TestStamps(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 123_456_789} {
		data := base64.StdEncoding.EncodeToString(append(stamp(n), "rest"...))
		for _, body := range []string{`{"message":{"data":"` + data + `"}}`, `{"message": {"attributes": {}, "data": "` + data + `"}}`} {
			if got, ok := stampOf([]byte(body)); got != n || !ok {
				t.Errorf("%d in %s: %d, %v", n, body, got, ok)
			}
		}
	}
	for _, body := range []string{``, `{"message":{}}`, `{"message":{"data":"MDAw"}}`, `{"message":{"data":"cG9zdHJpZGVwb3N0"}}`} {
		if got, ok := stampOf([]byte(body)); ok {
			t.Errorf("%s: %d", body, got)
		}
	}
}

func TestCommandStats(t *testing.T) {
	t.Parallel()
	parse := func(text string) commands {
		all, err := parseCommandStats(strings.ReplaceAll(text, "\n", "\r\n"))
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	before := parse("# Commandstats\ncmdstat_xadd:calls=5,usec=31,usec_per_call=6.20,rejected_calls=0,failed_calls=0\n" +
		"cmdstat_info:calls=9,usec=900,usec_per_call=100.00\n")
	after := parse("# Commandstats\ncmdstat_xadd:calls=7,usec=40,usec_per_call=5.71\ncmdstat_info:calls=10,usec=1000,usec_per_call=100.00\n" +
		"cmdstat_evalsha:calls=2,usec=100,usec_per_call=50.00\ncmdstat_config|get:calls=1,usec=3,usec_per_call=3.00\n")
	if calls, micros := after.since(before, scripts...); calls != 5 || micros != 100 {
		t.Errorf("%d calls, %v µs in scripts", calls, micros)
	}
	if _, micros := after.since(before, "xadd"); micros != 9 {
		t.Errorf("%v µs of XADD", micros)
	}
	if _, err := parseCommandStats("cmdstat_xadd:calls=x,usec=1,"); err == nil {
		t.Error("took a word for a number")
	}
}

func TestEnough(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		time           time.Duration
		messages, want int
	}{
		{time.Second, 1_000_000, 60_000},
		{time.Second, 1_234, 1_200},
		{time.Millisecond, 1_000_000, batch},
	} {
		b := bench{Options: Options{Time: c.time, Messages: c.messages}}
		if got := b.enough(60_000); got != c.want {
			t.Errorf("%v, %d messages: %d", c.time, c.messages, got)
		}
	}
}

// A floor that answers less than a server would be a floor too low.
func TestFloorAnswersAsAServer(t *testing.T) {
	t.Parallel()
	a, err := newAnswers()
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(a.hundred, []byte(`"1`)); n != batch {
		t.Errorf("%d ids: %s", n, a.hundred)
	}
	if _, n := acknowledgement(nil, a.pull); n != batch {
		t.Errorf("%d messages: %s", n, a.pull)
	}
}
