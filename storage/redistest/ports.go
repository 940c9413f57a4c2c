package redistest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports are taken from below the range that Linux and macOS hand to outgoing connections, so that a connection of another
// test never sits on a port that a stopped server will want back.
const (
	firstPort = 20000
	lastPort  = 32000
	portTries = 20
)

// freePort is a port on which nothing listens now. Another process may still take it first: whoever listens on it must be
// ready to fail and ask again.
func freePort() (int, error) {
	var err error
	for range portTries {
		port := firstPort + rand.IntN(lastPort-firstPort)
		var listener net.Listener
		if listener, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return port, listener.Close()
		}
	}
	return 0, errors.Join(errors.New("no free port found"), err)
}
