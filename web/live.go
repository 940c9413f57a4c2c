package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

const (
	eventStream = "text/event-stream"
	// streamWrite is how long a reader may take for an event.
	streamWrite = 10 * time.Second
	// streamQuiet is how long a stream is silent at most, so that either side finds out when the other has gone.
	streamQuiet = 15 * time.Second
)

// stream sends the parts of a page, and then each one again when it changes. The reader's script puts them in place.
func (s *Site) stream(w http.ResponseWriter, r *http.Request, read func(*http.Request) (page, error)) {
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		w.Header().Set("Retry-After", "30")
		http.Error(w, "as many pages as may be are updated live already", http.StatusServiceUnavailable)
		return
	}
	c := http.NewResponseController(w)
	if err := c.SetReadDeadline(time.Time{}); err != nil { // the server's is for requests that end
		http.Error(w, "live updates are not possible here", http.StatusNotImplemented)
		return
	}
	w.Header().Set("Content-Type", eventStream)
	w.Header().Set("X-Accel-Buffering", "no") // nginx would collect events
	st := streaming{w: w, c: c, sent: map[string]string{}}
	if s.followed(r, &st, read) == nil {
		st.send("bye", "") // this server is stopping
	}
}

// followed sends what changes until the reader has gone (an error) or the server drains (none).
func (s *Site) followed(r *http.Request, st *streaming, read func(*http.Request) (page, error)) error {
	tick := time.NewTicker(s.options.Every)
	defer tick.Stop()
	for {
		if err := s.update(r, st, read); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return context.Cause(r.Context())
		case <-s.drain:
			return nil
		}
	}
}

// update reads the page again and sends the parts that are other than before.
func (s *Site) update(r *http.Request, st *streaming, read func(*http.Request) (page, error)) error {
	p, err := read(r)
	if r.Context().Err() != nil {
		return r.Context().Err()
	}
	if err != nil {
		_, message := s.options.Explain(r.Context(), err)
		return st.sendIfNew("trouble", message)
	}
	changed := map[string]string{}
	v := s.newView(r, p)
	for _, name := range p.parts {
		var b bytes.Buffer
		if err := templates.ExecuteTemplate(&b, name, v); err != nil {
			s.log.ErrorContext(r.Context(), "a part of a page cannot be rendered", "part", name, "error", err)
			return err
		}
		// A part that is empty now may not have been so in the page.
		if sent, ever := st.sent[name]; !ever || sent != b.String() {
			st.sent[name], changed[name] = b.String(), b.String()
		}
	}
	delete(st.sent, "trouble")
	if len(changed) == 0 {
		return st.keepAlive()
	}
	text, err := json.Marshal(changed)
	if err != nil {
		return err
	}
	return st.send("parts", string(text))
}

// streaming is the reader of a stream.
type streaming struct {
	w    http.ResponseWriter
	c    *http.ResponseController
	sent map[string]string // by part
	last time.Time         // when anything was sent
}

// send sends an event. Its data is one line: JSON, or a message of ours.
func (st *streaming) send(event, data string) error {
	return st.write(fmt.Sprintf("event: %s\ndata: %s\n\n", event, strings.NewReplacer("\r", " ", "\n", " ").Replace(data)))
}

func (st *streaming) sendIfNew(event, data string) error {
	if st.sent[event] == data {
		return st.keepAlive()
	}
	st.sent[event] = data
	return st.send(event, data)
}

func (st *streaming) keepAlive() error {
	if time.Since(st.last) < streamQuiet {
		return nil
	}
	return st.write(": still here\n\n")
}

func (st *streaming) write(text string) error {
	st.last = time.Now()
	if err := st.c.SetWriteDeadline(st.last.Add(streamWrite)); err != nil {
		return err
	}
	if _, err := st.w.Write([]byte(text)); err != nil {
		return err
	}
	return st.c.Flush()
}
