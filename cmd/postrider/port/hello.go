package port

import (
	"errors"
	"io"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// hello is how a connection of HTTP/2 begins, up to its first request, which tells what it is for.
//
// Clients of gRPC ask nothing before they have the server's settings, and the server is not known before they ask. So settings
// that change nothing are sent here, and the server's own follow them. net/http takes an acknowledgement that it does not wait
// for as an error, so the one of these is waited for and left out.
type hello struct {
	from  io.ReadWriter
	begun []byte // of the preface
	bytes []byte // all that was read, and the server is to read again

	asked    bool // there was a request
	onlyGRPC bool // it was of gRPC, and no proxy can mix it with others
	acked    bool // the settings were acknowledged
}

func newHello(c io.ReadWriter, begun []byte) *hello {
	return &hello{from: c, begun: begun, bytes: append([]byte(nil), begun...)}
}

// maxHello bounds what a client sends before it is known which server is to read it. Without leave, which only the server
// gives, it may send 64 KiB of a body.
const (
	maxHello  = 256 << 10
	maxFrame  = 16 << 10 // the most that one may send without leave
	hpackSize = 4 << 10  // likewise
)

var (
	errHelloTooLong = errors.New("too much before the settings are acknowledged")
	errGone         = errors.New("the client takes no settings")
)

// Read notes what is read.
func (h *hello) Read(p []byte) (int, error) {
	if len(h.bytes) >= maxHello {
		return 0, errHelloTooLong
	}
	n, err := h.from.Read(p)
	h.bytes = append(h.bytes, p[:n]...)
	return n, err
}

// read reads until it is known who is to serve the connection. What is not HTTP/2 goes to the server of gRPC, which says so.
func (h *hello) read() error {
	rest := make([]byte, len(preface)-len(h.begun))
	if _, err := io.ReadFull(h, rest); err != nil {
		return err
	}
	if string(rest) != string(preface[len(h.begun):]) {
		return nil
	}
	frames := http2.NewFramer(h.from, h)
	frames.SetMaxReadFrameSize(maxFrame)
	frames.ReadMetaHeaders = hpack.NewDecoder(hpackSize, nil)
	if frames.WriteSettings() != nil {
		return errGone
	}
	for !h.onlyGRPC && (!h.asked || !h.acked) {
		start := len(h.bytes)
		frame, err := frames.ReadFrame()
		if err != nil {
			return serversToTell(err)
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if frame.IsAck() && !h.acked {
				h.acked = true
				h.bytes = h.bytes[:start]
			}
		case *http2.MetaHeadersFrame:
			if !h.asked {
				h.asked, h.onlyGRPC = true, isGRPC(frame) && !byProxy(frame)
			}
		}
	}
	return nil
}

// serversToTell is nil for what is wrong with a frame. The server that gets the bytes finds it again and knows what to say.
func serversToTell(err error) error {
	if errors.As(err, new(http2.ConnectionError)) || errors.As(err, new(http2.StreamError)) || errors.Is(err, http2.ErrFrameTooLarge) {
		return nil
	}
	return err
}

func isGRPC(request *http2.MetaHeadersFrame) bool {
	for _, field := range request.RegularFields() {
		if field.Name == "content-type" {
			return strings.HasPrefix(field.Value, contentTypeGRPC)
		}
	}
	return false
}

// contentTypeGRPC begins the content type of every call of gRPC.
const contentTypeGRPC = "application/grpc"

// byProxy tells whether a request has what proxies add: its connection may also carry requests of other clients.
func byProxy(request *http2.MetaHeadersFrame) bool {
	for _, field := range request.RegularFields() {
		if field.Name == "via" || field.Name == "forwarded" ||
			strings.HasPrefix(field.Name, "x-forwarded-") || strings.HasPrefix(field.Name, "x-envoy-") {
			return true
		}
	}
	return false
}
