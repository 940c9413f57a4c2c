package child

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// The bounds on one question, and the pauses between questions to a server that does not answer yet.
const (
	askTimeout   = 5 * time.Second
	firstPause   = 2 * time.Millisecond
	longestPause = 50 * time.Millisecond
)

// Reply is an error that Redis answered, without the leading minus.
type Reply string

func (r Reply) Error() string { return string(r) }

// Ask sends one command, its words separated by spaces, over a connection of its own, and returns what a simple or a bulk
// reply says. A client with a pool would log and dial again where one question is enough.
func (p *Process) Ask(ctx context.Context, command string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	connection, err := new(net.Dialer).DialContext(ctx, "unix", p.socket)
	if err != nil {
		return "", err
	}
	defer connection.Close()
	defer context.AfterFunc(ctx, func() { _ = connection.SetDeadline(time.Unix(1, 0)) })()
	if _, err := io.WriteString(connection, command+"\r\n"); err != nil {
		return "", err
	}
	return readReply(bufio.NewReader(connection))
}

func readReply(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimRight(line, "\r\n")
	switch {
	case strings.HasPrefix(line, "-"):
		return "", Reply(line[1:])
	case strings.HasPrefix(line, "$"):
		size, err := strconv.Atoi(line[1:])
		if err != nil || size < 0 {
			return "", fmt.Errorf("unexpected reply %q", line)
		}
		bulk := make([]byte, size)
		_, err = io.ReadFull(r, bulk)
		return string(bulk), err
	case strings.HasPrefix(line, "+"):
		return line[1:], nil
	}
	return "", fmt.Errorf("unexpected reply %q", line)
}

// Await returns once the server answers, with its data loaded; or why it never will.
func (p *Process) Await(ctx context.Context) error {
	pause := firstPause
	for {
		_, err := p.Ask(ctx, "PING")
		if err == nil || served(err) {
			return nil
		}
		select {
		case <-p.done:
			return p.Err()
		case <-ctx.Done():
			return fmt.Errorf("%w while redis-server did not answer yet: %w", context.Cause(ctx), err)
		case <-time.After(pause):
			pause = min(pause*5/4, longestPause)
		}
	}
}

// served tells whether Redis refused a PING although it serves, as one that asks for a password does. The first word of an
// error is part of its protocol.
func served(err error) bool {
	var reply Reply
	return errors.As(err, &reply) && !strings.HasPrefix(string(reply), "LOADING ")
}

// shutDown tells whether Redis took the command: it ends without an answer then.
func (p *Process) shutDown() bool {
	if p.socket == "" {
		return false
	}
	_, err := p.Ask(context.Background(), "SHUTDOWN")
	return errors.Is(err, io.EOF)
}
