package private

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// errNoCommand is about bytes that are no command, or not all of one.
var errNoCommand = errors.New("not a command")

// commandStart is how a command begins.
var commandStart = regexp.MustCompile(`\*\d+\r\n\$\d+\r\n`)

// scan reads commands until the end, or errNoCommand. All before good is whole commands and transactions; at bad begins what
// is not.
func scan(r *bufio.Reader) (good, bad int64, err error) {
	in := &commands{r: r}
	open := false // a transaction is
	for {
		bad = in.offset
		word, err := in.next()
		if errors.Is(err, io.EOF) {
			return good, bad, nil
		}
		if err != nil {
			return good, bad, err
		}
		switch strings.ToUpper(word) {
		case "MULTI":
			open = true
		case "EXEC":
			open = false
		}
		if !open {
			good = in.offset
		}
	}
}

// commands reads an append-only file: *COUNT, and for each word $LENGTH and the word, with CR LF after each.
type commands struct {
	r      *bufio.Reader
	offset int64
}

// next reads a command and returns its first word; io.EOF is the end of all.
func (c *commands) next() (first string, err error) {
	if start, err := c.r.Peek(1); err == nil && start[0] == '#' {
		return "", inside(c.skipLine()) // an annotation, such as a time
	}
	count, err := c.number('*')
	if err != nil {
		return "", err
	}
	if count == 0 {
		return "", errNoCommand
	}
	for i := range count {
		word, err := c.word()
		if err != nil {
			return "", inside(err)
		}
		if i == 0 {
			first = word
		}
	}
	return first, nil
}

// inside is what the end means inside a command.
func inside(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errNoCommand
	}
	return err
}

// number reads a line with a sign and a number.
func (c *commands) number(sign byte) (int, error) {
	line, err := c.r.ReadSlice('\n')
	c.offset += int64(len(line))
	if err != nil && (len(line) == 0 || !errors.Is(err, io.EOF)) && !errors.Is(err, bufio.ErrBufferFull) {
		return 0, err
	}
	digits, ended := bytes.CutSuffix(line[1:], []byte("\r\n"))
	n, err := strconv.ParseUint(string(digits), 10, 31)
	if !ended || line[0] != sign || err != nil {
		return 0, errNoCommand
	}
	return int(n), nil
}

// longestName is longer than the names of commands. Other words are passed over.
const longestName = 64

func (c *commands) word() (string, error) {
	length, err := c.number('$')
	if err != nil {
		return "", err
	}
	text := ""
	if length <= longestName {
		start, err := c.r.Peek(length)
		if err != nil {
			return "", err
		}
		text = string(start)
	}
	skipped, err := c.r.Discard(length)
	c.offset += int64(skipped)
	if err != nil {
		return "", err
	}
	end := make([]byte, 2)
	read, err := io.ReadFull(c.r, end)
	c.offset += int64(read)
	if err == nil && string(end) != "\r\n" {
		err = errNoCommand
	}
	return text, err
}

func (c *commands) skipLine() error {
	for {
		line, err := c.r.ReadSlice('\n')
		c.offset += int64(len(line))
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}
