package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"postrider/server/wire"
)

// client is a load generator's: it sends bodies that are encoded already, over connections that are kept.
type client struct {
	http *http.Client
	base *url.URL
}

// connections is how many connections publish single messages, and the most that anything here opens to one host but for
// pushes.
const connections = 64

// requestTimeout bounds one request. It is far beyond what a healthy server takes.
const requestTimeout = 30 * time.Second

func newClient(server string) (*client, error) {
	base, err := url.Parse(server)
	if err != nil || base.Host == "" {
		return nil, fmt.Errorf("%q is not the URL of a server", server)
	}
	base.Path = strings.TrimSuffix(base.Path, "/") + "/"
	return &client{
		http: &http.Client{
			Transport: &http.Transport{MaxIdleConnsPerHost: pushers, DisableCompression: true, WriteBufferSize: 64 << 10},
			Timeout:   requestTimeout,
		},
		base: base,
	}, nil
}

// call is one method of the API on one resource, ready to be sent any number of times.
type call struct {
	client *client
	method string
	url    *url.URL
}

func (c *client) call(method, path string) call {
	return call{c, method, c.base.JoinPath(path)}
}

var header = http.Header{"Content-Type": {"application/json"}}

// send sends a body and reads the whole answer, into answer unless that is nil.
func (c call) send(ctx context.Context, body []byte, answer *bytes.Buffer) error {
	request := &http.Request{
		Method: c.method, URL: c.url, Host: c.url.Host, Header: header,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
	if len(body) == 0 {
		request.Body = http.NoBody
	}
	response, err := c.client.http.Do(request.WithContext(ctx))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode >= 300 {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 300)) // the status says enough
		return fmt.Errorf("%s %s: %s: %s", c.method, c.url.Path, response.Status, strings.TrimSpace(string(text)))
	}
	if answer == nil {
		_, err = io.Copy(io.Discard, response.Body)
		return err
	}
	answer.Reset()
	_, err = answer.ReadFrom(response.Body)
	return err
}

// sendMessage sends a message of the API, for what need not be fast.
func (c call) sendMessage(ctx context.Context, message any) error {
	body, err := wire.Marshal(message)
	if err != nil {
		return err
	}
	return c.send(ctx, body, nil)
}
