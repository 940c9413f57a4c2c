package port

import (
	"bufio"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"

	"postrider/server/api"
)

var discard = slog.New(slog.DiscardHandler)

// inBoth runs a test in the clear and over TLS.
func inBoth(t *testing.T, test func(*rig)) {
	t.Parallel()
	t.Run("clear", func(t *testing.T) {
		t.Parallel()
		test(newRig(t, false))
	})
	t.Run("TLS", func(t *testing.T) {
		t.Parallel()
		test(newRig(t, true))
	})
}

func http1Only(p *http.Protocols) { p.SetHTTP1(true) }

// http2Only speaks HTTP/2 without having asked.
func http2Only(p *http.Protocols) { p.SetHTTP2(true); p.SetUnencryptedHTTP2(true) }

func bothProtocols(p *http.Protocols) { p.SetHTTP1(true); p.SetHTTP2(true) }

// Each kind of client gets to the server that is made for it, however it was that the protocol was agreed upon.
func TestEachKindIsServed(t *testing.T) {
	inBoth(t, func(r *rig) {
		negotiated := "HTTP/1.1"
		if r.tls != nil {
			negotiated = "HTTP/2.0"
		}
		large := strings.Repeat("x", 1<<20) // more than may be sent before the settings are acknowledged
		for name, c := range map[string]struct {
			protocols func(*http.Protocols)
			want      string
		}{
			"HTTP/1": {http1Only, "HTTP/1.1"}, "HTTP/2": {http2Only, "HTTP/2.0"}, "either": {bothProtocols, negotiated},
		} {
			if got := r.rest(c.protocols, large); got != c.want+" "+large {
				r.Errorf("%s: answered %.20q", name, got)
			}
			r.next(r.requests)
		}
		r.call(r.Context(), r.credentials())
		if method := r.next(r.callers); method != "/grpc.health.v1.Health/Check" {
			r.Error(method)
		}
		if len(r.requests) > 0 {
			r.Error("net/http was asked", <-r.requests)
		}
	})
}

// A connection of a proxy can carry both kinds, so it goes where both are served.
func TestProxiedCallsGoToNetHTTP(t *testing.T) {
	inBoth(t, func(r *rig) {
		for _, header := range []string{"x-forwarded-for", "forwarded", "via", "x-envoy-expected-rq-timeout-ms"} {
			r.call(metadata.AppendToOutgoingContext(r.Context(), header, "1"), r.credentials())
			if got := r.next(r.requests); got != "HTTP/2.0 application/grpc" {
				r.Errorf("%s: %s", header, got)
			}
		}
		if len(r.callers) > 0 {
			r.Error("grpc-go was asked", <-r.callers)
		}
	})
}

// Whoever offers HTTP/1, too, may go on to ask anything.
func TestCallsOfWhoOffersHTTP1GoToNetHTTP(t *testing.T) {
	t.Parallel()
	r := newRig(t, true)
	r.call(r.Context(), credentials.NewTLS(r.offering("h2", "http/1.1")))
	if got := r.next(r.requests); got != "HTTP/2.0 application/grpc" {
		t.Error(got)
	}
}

// A client of gRPC may connect long before it calls.
func TestIdleConnectionIsTakenForGRPC(t *testing.T) {
	inBoth(t, func(r *rig) {
		r.patience = 1 // ns
		c := r.dial("h2")
		frames := http2.NewFramer(c, c)
		_, err := io.WriteString(c, http2.ClientPreface)
		r.must(err)
		r.must(frames.WriteSettings())
		for acknowledged := false; !acknowledged; { // as grpc-go does
			frame, err := frames.ReadFrame()
			r.must(err)
			settings, ok := frame.(*http2.SettingsFrame)
			acknowledged = ok && settings.IsAck()
		}
	})
}

// What a connection speaks may come in pieces.
func TestFirstBytesInPieces(t *testing.T) {
	inBoth(t, func(r *rig) {
		for _, pieces := range [][]string{
			{"P", "U", "T / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}"},
			{"PR", "OPFIND / HTTP/1.1\r\nHost: localhost\r\n\r\n"},
			{"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"},
		} {
			c := r.dial()
			r.write(c, pieces...)
			head := make([]byte, len("HTTP/1.1 200"))
			if _, err := io.ReadFull(c, head); err != nil || string(head) != "HTTP/1.1 200" {
				r.Errorf("%q: answered %q, %v", pieces, head, err)
			}
		}
		c := r.dial("h2")
		r.write(c, "P", "RI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\x00\x00\x00\x04\x00\x00\x00\x00\x00")
		frame := make([]byte, 9)
		if _, err := io.ReadFull(c, frame); err != nil || frame[3] != byte(http2.FrameSettings) {
			r.Errorf("HTTP/2 was answered with %x, %v", frame, err)
		}
	})
}

func (r *rig) write(c io.Writer, pieces ...string) {
	r.Helper()
	for _, piece := range pieces {
		_, err := io.WriteString(c, piece)
		r.must(err)
	}
}

// What is broken, or never ends, gets to nobody and is closed.
func TestBrokenBeginnings(t *testing.T) {
	inBoth(t, func(r *rig) {
		settings := "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
		endless := strings.Repeat("\x00\x40\x00\x0b\x00\x00\x00\x00\x00"+strings.Repeat("x", 16<<10), 32) // frames of no known kind
		for name, bytes := range map[string]string{
			"no preface":      "PRI * HTTP/3.0\r\n\r\nSM\r\n\r\n",
			"a frame too big": http2.ClientPreface + "\xff\xff\xff\x00\x00\x00\x00\x00\x00",
			"no such headers": http2.ClientPreface + settings + "\x00\x00\x01\x01\x05\x00\x00\x00\x01\xff",
			"no end":          http2.ClientPreface + settings + endless,
		} {
			c := r.dial("h2")
			_, _ = io.WriteString(c, bytes) // it may be closed before it is all written
			if _, err := io.Copy(io.Discard, c); err != nil && strings.Contains(err.Error(), "timeout") {
				r.Errorf("%s: the connection stays open", name)
			}
		}
		r.call(r.Context(), r.credentials())
	})
}

// Connections that say nothing end with the splitter.
func TestCloseEndsSilentConnections(t *testing.T) {
	inBoth(t, func(r *rig) {
		var silent []net.Conn
		for _, bytes := range []string{"", "P", http2.ClientPreface} {
			c := r.dial("h2")
			r.write(c, bytes)
			silent = append(silent, c)
		}
		r.rest(http1Only, "") // accepted in order, so the others are in
		_ = r.Close()
		for i, c := range silent {
			if _, err := io.Copy(io.Discard, c); err != nil && strings.Contains(err.Error(), "timeout") {
				r.Errorf("connection %d survived", i)
			}
		}
	})
}

// What net/http answers before any handler is asked has Google's shape, too.
func TestErrorsBelowTheHandlers(t *testing.T) {
	inBoth(t, func(r *rig) {
		for request, want := range map[string]api.ErrorStatus{
			"this is no HTTP\r\n\r\n":                                 {Code: 400, Status: "INVALID_ARGUMENT", Message: "Bad Request"},
			"GET / HTTP/1.1\r\n\r\n":                                  {Code: 400, Status: "INVALID_ARGUMENT", Message: "missing required Host header"},
			"GET / HTTP/3.7\r\n\r\n":                                  {Code: 505, Status: "UNIMPLEMENTED", Message: "unsupported protocol version"},
			"GET / HTTP/1.1\r\nA: " + strings.Repeat("a", 1<<20+5000): {Code: 431, Status: "INVALID_ARGUMENT", Message: "Header Fields Too Large"},
			"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: zip\r\n\r\n": {
				Code: 501, Status: "UNIMPLEMENTED", Message: "Unsupported transfer encoding"},
		} {
			c := r.dial()
			r.write(c, request)
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				r.Errorf("%.40q: %v", request, err)
				continue
			}
			var told api.Error
			if err := json.NewDecoder(resp.Body).Decode(&told); err != nil {
				r.Errorf("%.40q: %v", request, err)
			}
			if resp.StatusCode != want.Code || told.Error.Code != want.Code || told.Error.Status != want.Status || !strings.Contains(told.Error.Message, want.Message) {
				r.Errorf("%.40q: answered %d %+v", request, resp.StatusCode, told.Error)
			}
		}
	})
}

// Whoever forgets the s in https is told so.
func TestPlainRequestOnEncryptedPort(t *testing.T) {
	t.Parallel()
	r := newRig(t, true)
	r.tls = nil
	if got := r.rest(http1Only, "{}"); !strings.Contains(got, "use https://") || !strings.Contains(got, "INVALID_ARGUMENT") {
		t.Error(got)
	}
}
