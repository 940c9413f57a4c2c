package bench

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-chi/chi/v5"

	"postrider/server/api"
	"postrider/server/wire"
)

// The floor's own topics, by how many messages a request to them publishes, and its subscription.
const (
	floorTopics        = "v1/projects/floor/topics/"
	floorSubscriptions = "v1/projects/floor/subscriptions/"
)

func floorTopic(messages int) string { return floorTopics + strconv.Itoa(messages) }
func floorSubscription() string      { return floorSubscriptions + strconv.Itoa(batch) }

// NewFloor is the other side of a bench: a router that answers the requests of the API in the same words as a server, but
// neither reads what is in them nor stores anything; and a push endpoint that accepts everything at once.
func NewFloor() (http.Handler, error) {
	answers, err := newAnswers()
	if err != nil {
		return nil, err
	}
	r := chi.NewRouter()
	r.Post("/v1/projects/{project}/topics/{topic}:publish", func(w http.ResponseWriter, r *http.Request) {
		if chi.URLParam(r, "topic") == "1" {
			answers.one.serve(w, r)
		} else {
			answers.hundred.serve(w, r)
		}
	})
	r.Post("/v1/projects/{project}/subscriptions/{subscription}:pull", answers.pull.serve)
	r.Post("/v1/projects/{project}/subscriptions/{subscription}:acknowledge", answers.empty.serve)
	e := &endpoint{arrivals: map[string]*arrivals{}}
	r.Post(pushPath+"{name}", e.push)
	r.Get(pushPath+"{name}", e.tell)
	return r, nil
}

// fixed is an answer that is the same each time.
type fixed []byte

func (f fixed) serve(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(f)))
	_, _ = w.Write(f) // a client that has gone needs no answer
}

// answers are as large as those of a server.
type answers struct{ one, hundred, pull, empty fixed }

func newAnswers() (answers, error) {
	bodies, err := newBodies()
	if err != nil {
		return answers{}, err
	}
	var published api.PublishResponse
	var pulled api.PullResponse
	now := time.Now()
	for i := range batch {
		id := strconv.FormatInt(now.UnixMilli(), 10) + "-" + strconv.Itoa(10_000*(i+1))
		published.MessageIDs = append(published.MessageIDs, id)
		pulled.ReceivedMessages = append(pulled.ReceivedMessages, api.ReceivedMessage{
			AckID: base64.RawURLEncoding.EncodeToString([]byte("an ack id of a usual length " + strconv.Itoa(100+i))),
			Message: &api.PubsubMessage{
				Data: bodies.payload, MessageID: id, PublishTime: wire.NewTimestamp(now),
			},
		})
	}
	a := answers{empty: fixed("{}")}
	for _, part := range []struct {
		into    *fixed
		message any
	}{
		{&a.one, api.PublishResponse{MessageIDs: published.MessageIDs[:1]}}, {&a.hundred, published}, {&a.pull, pulled},
	} {
		if *part.into, err = wire.Marshal(part.message); err != nil {
			return answers{}, err
		}
	}
	return a, nil
}

// pushPath is before the name under which pushes are counted, each measurement under its own.
const pushPath = "/push/"

// endpoint accepts pushes.
type endpoint struct {
	mu       sync.RWMutex
	arrivals map[string]*arrivals
}

// arrivals are the pushes to one name: how many, from when to when, and when the first one with each stamp came. Times are
// in nanoseconds.
type arrivals struct {
	count, first, last atomic.Int64

	mu    sync.Mutex
	times map[int]time.Time
}

func (e *endpoint) of(name string) *arrivals {
	e.mu.RLock()
	a := e.arrivals[name]
	e.mu.RUnlock()
	if a == nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		if a = e.arrivals[name]; a == nil {
			a = &arrivals{times: map[int]time.Time{}}
			e.arrivals[name] = a
		}
	}
	return a
}

func (e *endpoint) push(w http.ResponseWriter, r *http.Request) {
	came := time.Now()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	a := e.of(chi.URLParam(r, "name"))
	a.first.CompareAndSwap(0, came.UnixNano())
	a.last.Store(came.UnixNano())
	a.count.Add(1)
	if n, ok := stampOf(body); ok {
		a.mu.Lock()
		if _, again := a.times[n]; !again {
			a.times[n] = came
		}
		a.mu.Unlock()
	}
	w.WriteHeader(http.StatusNoContent)
}

// tell answers how many pushes came, and when the first and the last of them; then a line for each stamped one: its stamp,
// and when it came. With "count" in the query it leaves these lines out.
func (e *endpoint) tell(w http.ResponseWriter, r *http.Request) {
	a := e.of(chi.URLParam(r, "name"))
	b := fmt.Appendf(nil, "%d %d %d", a.count.Load(), a.first.Load(), a.last.Load())
	if r.URL.RawQuery != "count" {
		a.mu.Lock()
		defer a.mu.Unlock()
		for n, t := range a.times {
			b = append(strconv.AppendInt(append(b, '\n'), int64(n), 10), ' ')
			b = strconv.AppendInt(b, t.UnixNano(), 10)
		}
	}
	_, _ = w.Write(b) // who asks again gets another answer
}

// stampDigits is the length of a stamp: a message's number at the beginning of its data. In base64 it is still at the
// beginning, since its length is a multiple of three.
const stampDigits = 9

func stamp(n int) []byte {
	digits := strconv.Itoa(n)
	return []byte(strings.Repeat("0", stampDigits-len(digits)) + digits)
}

// stampOf finds the stamp in the envelope of a push.
func stampOf(body []byte) (int, bool) {
	const field = `"data":`
	_, data, found := strings.Cut(string(body), field)
	data = strings.TrimLeft(data, ` "`)
	if !found || len(data) < stampDigits/3*4 {
		return 0, false
	}
	digits, err := base64.StdEncoding.DecodeString(data[:stampDigits/3*4])
	if err != nil {
		return 0, false
	}
	n, err := strconv.Atoi(string(digits))
	return n, err == nil
}
