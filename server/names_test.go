package server_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// raw sends a request with this target as it stands, which no client library would.
func raw(t *testing.T, s *httptest.Server, method, target, body string) answer {
	t.Helper()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", method, target, len(body), body)
	r, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var text strings.Builder
	if _, err := bufio.NewReader(r.Body).WriteTo(&text); err != nil {
		t.Fatal(err)
	}
	return answer{t, method + " " + target, r.StatusCode, r.Header, text.String()}
}

// An id is decoded exactly once, whether it comes before a verb or not.
func TestOddNames(t *testing.T) {
	t.Parallel()
	s := newREST(t)
	over := httptest.NewServer(s.handler)
	defer over.Close()
	for written, id := range map[string]string{
		"my.topic":         "my.topic",
		"a+b":              "a+b",
		"c%2Bd":            "c+d",
		"a%25b":            "a%b",
		"a%2525b":          "a%25b",
		"a.b-c~_%25":       "a.b-c~_%",
		"%61bc":            "abc",
		"a%7Eb%2e%2E":      "a~b..",
		"p%25C3%25A9":      "p%C3%A9",
		"a%252Fb":          "a%2Fb",
		"a%253Apublish":    "a%3Apublish",
		"Az09-_.~+%25AAAA": "Az09-_.~+%AAAA",
	} {
		topic, sub := "/v1/projects/p/topics/"+written, "/v1/projects/p/subscriptions/"+written
		name := "projects/p/topics/" + id
		if got := raw(t, over, "PUT", topic, "{}").ok()["name"]; got != name {
			t.Errorf("%s became %v, want %s", written, got, name)
			continue
		}
		raw(t, over, "PUT", sub, encode(fields{"topic": name})).ok()
		if got := raw(t, over, "GET", sub, "").ok()["name"]; got != "projects/p/subscriptions/"+id {
			t.Errorf("the subscription %s became %v", written, got)
		}
		raw(t, over, "POST", topic+":publish?alt=json&prettyPrint=false", `{"messages": [{"data": "aGk="}]}`).ok()
		if got := raw(t, over, "POST", sub+":pull", `{"maxMessages": 1}`).pulled(); len(got) != 1 {
			t.Errorf("%s: pulled %+v", written, got)
		}
		raw(t, over, "GET", topic+"/subscriptions", "").is(`{"subscriptions": ["projects/p/subscriptions/` + id + `"]}`)
		raw(t, over, "DELETE", topic, "").is(`{}`)
	}
}

func TestBadNames(t *testing.T) {
	t.Parallel()
	s := newREST(t)
	over := httptest.NewServer(s.handler)
	defer over.Close()
	for written, id := range map[string]string{
		"ab":                     "ab",
		"1abc":                   "1abc",
		"-abc":                   "-abc",
		"googtopic":              "googtopic",
		"a%2Fb":                  "a/b",
		"a%20b":                  "a b",
		"abc%00":                 `abc\x00`,
		"abc%0A":                 `abc\n`,
		"p%C3%A9":                "pé",
		"a%FFb":                  `a\xffb`,
		"a:b":                    "a:b",
		"a@b":                    "a@b",
		"abc%3Apublish":          "abc:publish",
		strings.Repeat("a", 256): strings.Repeat("a", 64) + "…",
	} {
		for _, method := range []string{"PUT", "GET", "PATCH", "DELETE"} {
			raw(t, over, method, "/v1/projects/p/topics/"+written, "{}").invalid("topic", `"`+id+`"`, "3 to 255")
			body := `{"topic": "projects/p/topics/orders"}`
			if method == "PATCH" {
				body = "{}"
			}
			raw(t, over, method, "/v1/projects/p/subscriptions/"+written, body).invalid("subscription", `"`+id+`"`, "3 to 255")
		}
	}
	for _, id := range []string{"abc", strings.Repeat("a", 255)} {
		s.do("PUT p/topics/"+id, "{}").ok()
	}
	for _, project := range []string{"example.com:p", "123456", "a", "P_x"} {
		s.do("PUT "+project+"/topics/abc", "{}").ok()
	}
	for _, project := range []string{"-p", "p.", "a%2Fb", "a%20b", strings.Repeat("p", 129)} {
		s.do("PUT "+project+"/topics/abc", "{}").invalid("project")
		s.do("GET " + project + "/topics").invalid("project")
		s.do("GET " + project + "/subscriptions").invalid("project")
	}
}
