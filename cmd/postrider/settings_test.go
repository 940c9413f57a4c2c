package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"postrider/subscriptions"
)

// load reads settings as serve does.
func load(t *testing.T, file string, environ []string, args ...string) (Config, error) {
	t.Helper()
	var c Config
	flags := serverFlags(&c)
	if file != "" {
		path := filepath.Join(t.TempDir(), "postrider.yaml")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		environ = append(environ, "POSTRIDER_CONFIG="+path)
	}
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	if err := loadSettings(flags, environ); err != nil {
		return c, err
	}
	return c, c.validate(func(name string) bool { return flags.Lookup(name).Changed })
}

func TestCommandLineBeatsEnvironmentBeatsFile(t *testing.T) {
	t.Parallel()
	const file = "listen: 127.0.0.1:1\nlog-level: warn\ndrain-timeout: 1m\n"
	environ := []string{"POSTRIDER_LISTEN=127.0.0.1:2", "POSTRIDER_LOG_LEVEL=error"}
	c, err := load(t, file, environ, "--listen", "127.0.0.1:3")
	if err != nil {
		t.Fatal(err)
	}
	if c.Listen != "127.0.0.1:3" {
		t.Errorf("listen is %s, not the flag's", c.Listen)
	}
	if c.LogLevel.String() != "ERROR" {
		t.Errorf("log-level is %s, not the environment's", c.LogLevel)
	}
	if c.DrainTimeout != time.Minute {
		t.Errorf("drain-timeout is %s, not the file's", c.DrainTimeout)
	}
	if c.LogFormat != formatAuto {
		t.Errorf("log-format is %s, not the default", c.LogFormat)
	}
}

func TestSettingsAreAccepted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file    string
		environ []string
		args    []string
		right   func(Config) bool
	}{
		"nothing":        {right: func(c Config) bool { return c.Listen == "127.0.0.1:8085" && c.RedisURL == "" }},
		"only comments":  {file: "# nothing\n", right: func(c Config) bool { return c.Listen == "127.0.0.1:8085" }},
		"an empty value": {file: "---\n", right: func(c Config) bool { return c.Listen == "127.0.0.1:8085" }},
		"a list in the file": {
			file:  "allowed-host: [a.example, b.example]\n",
			right: func(c Config) bool { return slices.Equal(c.AllowedHosts, []string{"a.example", "b.example"}) },
		},
		"a list in the environment": {
			environ: []string{"POSTRIDER_ALLOWED_HOST=a.example,b.example"},
			right:   func(c Config) bool { return slices.Equal(c.AllowedHosts, []string{"a.example", "b.example"}) },
		},
		"a list that is not added to one of less weight": {
			file: "allowed-host: [a.example]\n", args: []string{"--allowed-host=b.example", "--allowed-host=c.example"},
			right: func(c Config) bool { return slices.Equal(c.AllowedHosts, []string{"b.example", "c.example"}) },
		},
		"any host":  {args: []string{"--allowed-host=*"}, right: func(c Config) bool { return c.AllowedHosts[0] == "*" }},
		"a boolean": {file: "allow-unauthenticated: true\n", right: func(c Config) bool { return c.AllowUnauthenticated }},
		"days":      {file: "drain-timeout: 1d\n", right: func(c Config) bool { return c.DrainTimeout == 24*time.Hour }},
		"expiration": {
			right: func(c Config) bool { return c.expiration() == subscriptions.DefaultExpiration },
		},
		"expiration of the server's": {
			file: "default-expiration-ttl: 90d\n", right: func(c Config) bool { return c.expiration() == 90*24*time.Hour },
		},
		"no expiration": {
			file: "default-expiration-ttl: 90d\n", environ: []string{"POSTRIDER_DEFAULT_EXPIRATION_TTL=never"},
			right: func(c Config) bool { return c.expiration() == subscriptions.NeverExpires },
		},
		"a data directory": {
			file: "data-dir: /var/lib/postrider\nmax-memory: 4GB\n", environ: []string{"POSTRIDER_FSYNC=everysec"},
			right: func(c Config) bool {
				return c.DataDir == "/var/lib/postrider" && c.MaxMemory == 4<<30 && c.Fsync == "everysec"
			},
		},
		"the defaults of a data directory": {
			args: []string{"--data-dir=d"}, right: func(c Config) bool { return c.MaxMemory == 0 && c.Fsync == "always" },
		},
		"a socket": {
			environ: []string{"POSTRIDER_REDIS_URL=unix:///run/redis.sock"},
			right:   func(c Config) bool { return c.RedisURL == "unix:///run/redis.sock" },
		},
		"where pushes may go": {
			file: "push-allow: [10.1.0.0/16, '*.svc.cluster.local']\npush-ca-file: ca.pem\n", environ: []string{"POSTRIDER_PUSH_PROXY=https://u:p@proxy:3128/"},
			right: func(c Config) bool {
				return len(c.PushAllow) == 2 && c.PushCAFile == "ca.pem" && c.PushProxy == "https://u:p@proxy:3128/"
			},
		},
		"variables of client commands": {
			environ: []string{"POSTRIDER_SERVER=http://x", "POSTRIDER_PROJECT=p"}, right: func(Config) bool { return true },
		},
		"variables of Kubernetes": {
			environ: []string{
				"POSTRIDER_SERVICE_HOST=10.0.0.1", "POSTRIDER_SERVICE_PORT=8085", "POSTRIDER_SERVICE_PORT_HTTP=8085",
				"POSTRIDER_PORT=tcp://10.0.0.1:8085", "POSTRIDER_PORT_8085_TCP=tcp://10.0.0.1:8085",
				"POSTRIDER_PORT_8085_TCP_PROTO=tcp", "POSTRIDER_WEB_SERVICE_HOST=10.0.0.2", "POSTRIDER_WEB_PORT=tcp://10.0.0.2:80",
			},
			right: func(Config) bool { return true },
		},
	} {
		c, err := load(t, test.file, test.environ, test.args...)
		if err != nil || !test.right(c) {
			t.Errorf("%s: got %+v, %v", name, c, err)
		}
	}
}

// A setting that is wrong or unknown keeps the server from starting, and the message names it and what is accepted.
func TestSettingsAreRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file    string
		environ []string
		args    []string
		says    []string
	}{
		"unknown in the file":        {file: "listen: 127.0.0.1:1\nredis-uri: redis://h\n", says: []string{"postrider.yaml:2", "redis-uri", "redis-url"}},
		"unknown in the environment": {environ: []string{"POSTRIDER_REDIS_URI=redis://h"}, says: []string{"POSTRIDER_REDIS_URI", "POSTRIDER_REDIS_URL"}},
		"unknown flag":               {args: []string{"--redis-uri=redis://h"}, says: []string{"redis-uri"}},
		"a port in the environment":  {environ: []string{"POSTRIDER_PORT=8080"}, says: []string{"POSTRIDER_PORT", "POSTRIDER_LISTEN"}},
		"another file from the file": {file: "config: other.yaml\n", says: []string{"config"}},
		"twice in the file":          {file: "listen: a:1\nlisten: b:2\n", says: []string{"postrider.yaml:2", "listen"}},
		"nested in the file":         {file: "redis:\n  url: redis://h\n", says: []string{"postrider.yaml:1", "redis-url"}},
		"a mapping for a value":      {file: "listen: {host: a}\n", says: []string{"listen", "expected a value"}},
		"a list for one value":       {file: "listen: [a:1, b:2]\n", says: []string{"listen", "one value"}},
		"an empty list":              {file: "allowed-host: []\n", says: []string{"allowed-host", "empty"}},
		"no mapping":                 {file: "- listen\n", says: []string{"postrider.yaml:1", "listen: 127.0.0.1:8085"}},
		"no YAML":                    {file: "listen: [\n", says: []string{"postrider.yaml"}},
		"two documents":              {file: "listen: a:1\n---\nlisten: b:1\n", says: []string{"one YAML document"}},
		"no value in the file":       {file: "redis-url:\n", says: []string{"redis-url", "empty"}},
		"empty in the environment":   {environ: []string{"POSTRIDER_REDIS_URL="}, says: []string{"POSTRIDER_REDIS_URL", "empty"}},
		"empty flag":                 {args: []string{"--redis-url="}, says: []string{"--redis-url", "empty"}},
		"no file":                    {args: []string{"--config=/does/not/exist.yaml"}, says: []string{"/does/not/exist.yaml"}},
		"no boolean":                 {environ: []string{"POSTRIDER_ALLOW_UNAUTHENTICATED=yes"}, says: []string{"true or false"}},
		"no duration":                {environ: []string{"POSTRIDER_DRAIN_TIMEOUT=30"}, says: []string{"POSTRIDER_DRAIN_TIMEOUT", "30s or 2m"}},
		"no duration as a flag":      {args: []string{"--drain-timeout=30"}, says: []string{"drain-timeout", "90s"}},
		"a negative duration":        {args: []string{"--drain-timeout=-1s"}, says: []string{"drain-timeout", "negative"}},
		"no expiration":              {environ: []string{"POSTRIDER_DEFAULT_EXPIRATION_TTL=no"}, says: []string{"POSTRIDER_DEFAULT_EXPIRATION_TTL", "never"}},
		"too soon an expiration":     {args: []string{"--default-expiration-ttl=23h"}, says: []string{"--default-expiration-ttl", "23h", "a day"}},
		"no level":                   {file: "log-level: loud\n", says: []string{"log-level", "debug, info, warn or error"}},
		"no format":                  {file: "log-format: xml\n", says: []string{"log-format", "json"}},
		"no address":                 {args: []string{"--listen=8085"}, says: []string{"--listen", "127.0.0.1:8085"}},
		"a host with a port":         {args: []string{"--allowed-host=a.example:8085"}, says: []string{"--allowed-host", "a.example:8085"}},
		"two places":                 {file: "redis-url: redis://h\n", args: []string{"--data-dir=d"}, says: []string{"--data-dir", "--redis-url", "leave one"}},
		"an empty data directory":    {args: []string{"--data-dir="}, says: []string{"--data-dir", "empty"}},
		"memory of what is not ours": {file: "max-memory: 1gb\nredis-url: redis://h\n", says: []string{"--max-memory", "--data-dir"}},
		"fsync of what is not ours":  {environ: []string{"POSTRIDER_FSYNC=always"}, says: []string{"--fsync", "--data-dir"}},
		"no fsync":                   {environ: []string{"POSTRIDER_FSYNC=never"}, says: []string{"POSTRIDER_FSYNC", "always", "everysec"}},
		"no room for a publish":      {args: []string{"--max-bodies=1mb"}, says: []string{"--max-bodies", "32mb"}},
		"a size without a unit":      {file: "data-dir: d\nmax-memory: 4\n", says: []string{"max-memory", "512mb or 4gb"}},
		"a size as a flag":           {args: []string{"--data-dir=d", "--max-memory=1.5gb"}, says: []string{"max-memory", "512mb or 4gb"}},
		"a size beyond counting":     {args: []string{"--data-dir=d", "--max-memory=9999999tb"}, says: []string{"512mb or 4gb"}},
		"too little memory":          {args: []string{"--data-dir=d", "--max-memory=100kb"}, says: []string{"--max-memory", "8mb"}},
		"no target of pushes":        {args: []string{"--push-allow=10.1.2.3/16"}, says: []string{"--push-allow", "10.1.0.0/16"}},
		"a URL as one":               {environ: []string{"POSTRIDER_PUSH_ALLOW=a.example,http://b.example"}, says: []string{"--push-allow", "http://b.example"}},
		"no proxy":                   {file: "push-proxy: socks5://h:1\n", says: []string{"--push-proxy", "http://"}},
		"an empty proxy":             {args: []string{"--push-proxy="}, says: []string{"--push-proxy", "empty"}},
		"no file of authorities":     {args: []string{"--push-ca-file="}, says: []string{"--push-ca-file", "empty"}},
		"no Redis URL":               {args: []string{"--redis-url=localhost"}, says: []string{"--redis-url", "redis://"}},
	} {
		_, err := load(t, test.file, test.environ, test.args...)
		if err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		for _, word := range test.says {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s: %q is missing in: %v", name, word, err)
			}
		}
	}
}

// Whatever is wrong with it, the URL of Redis is not shown: it may hold a password.
func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	for _, url := range []string{
		"redis://:hunter2@", "redis://:hunter2@h:port", "hunter2", "redis://hunter2%zz@h", "http://:hunter2@h",
		"redis://:hunter2@h/database", "redis://:hunter2@h?x=y", "redis://a:hunter2/3@h", "://hunter2",
	} {
		for _, way := range []struct{ file, variable, arg string }{
			{arg: "--redis-url=" + url}, {variable: "POSTRIDER_REDIS_URL=" + url}, {file: "redis-url: '" + url + "'\n"},
			{variable: "POSTRIDER_LOG_LEVEL=" + url},
			{variable: "POSTRIDER_PUSH_PROXY=x" + url},
		} {
			var args []string
			if way.arg != "" {
				args = []string{way.arg}
			}
			_, err := load(t, way.file, []string{way.variable}, args...)
			if err == nil || strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %v", url, err)
			}
		}
	}
	if place := redisPlace("redis://user:hunter2@h:1/2"); place != "Redis at h:1 (database 2)" {
		t.Errorf("a good URL is shown as %q", place)
	}
}

func TestSizesAreWrittenAsTheyAreRead(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"1kb", "1000kb", "512mb", "4gb", "3tb"} {
		var s size
		if err := s.Set(strings.ToUpper(text)); err != nil || s.String() != text {
			t.Errorf("%s became %v, %v", text, s, err)
		}
	}
	if got := size(0).String(); got != "" {
		t.Errorf("no size is %q", got)
	}
}
