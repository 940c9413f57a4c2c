package main

import (
	"errors"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"postrider/cmd/postrider/metrics"
	"postrider/cmd/postrider/tracing"
	"postrider/pusher"
	"postrider/server"
	"postrider/storage/private"
	"postrider/storage/redisstream"
	"postrider/subscriptions"
)

// Config is what the server is told. Each field is a flag of "serve".
type Config struct {
	Listen               string
	AllowUnauthenticated bool
	AllowedHosts         []string
	TLSCert, TLSKey      string // files
	MaxBodies            int64
	RedisURL             string
	DataDir              string
	MaxMemory            int64 // of the private Redis in DataDir; 0 is its own default
	Fsync                string
	IssuerURL            string
	SigningKeys          string
	ClientCertificates   string
	LogLevel             slog.Level
	LogFormat            string
	DrainTimeout         time.Duration
	MaxPushes            int
	DefaultExpiration    expiry
	MetricsSeries        int
	OTLPEndpoint         string
	OTLPRatio            float64
	PushAllow            []string
	PushCAFile           string
	PushProxy            string // may hold a password
}

// The values of LogFormat.
const (
	formatAuto = "auto"
	formatText = "text"
	formatJSON = "json"
)

// serverFlags are the settings with their defaults. A usage text says what is accepted: messages quote it.
func serverFlags(c *Config) *pflag.FlagSet {
	f := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	f.String("config", "", "YAML `FILE` with settings, named as these flags")
	f.StringVar(&c.Listen, "listen", "127.0.0.1:8085", "`HOST:PORT` to listen on; port 0 takes a free one")
	f.BoolVar(&c.AllowUnauthenticated, "allow-unauthenticated", false,
		"listen beyond loopback although no request is authenticated: true or false")
	f.StringSliceVar(&c.AllowedHosts, "allowed-host", nil,
		"`NAMES` by which REST clients may address the server beside localhost and IP addresses, separated by commas; * is any")
	f.StringVar(&c.TLSCert, "tls-cert", "",
		"PEM `FILE` with the certificate, and its chain, to serve TLS with; it is taken anew when it changes")
	f.StringVar(&c.TLSKey, "tls-key", "", "PEM `FILE` with the key of --tls-cert")
	f.Var((*size)(&c.MaxBodies), "max-bodies",
		"most `SIZE` of all request bodies over REST that are under way, such as 256mb; in memory each takes about three times its "+
			"size; by default a sixteenth of the machine's or the container's memory, 64mb to 1gb")
	f.StringVar(&c.RedisURL, "redis-url", "",
		"`URL` of Redis 7 or later, or Valkey; without it or --data-dir messages are kept in memory")
	f.StringVar(&c.DataDir, "data-dir", "",
		"`DIR` in which a private Redis keeps messages, run by this server; it takes redis-server 7 or later, or valkey-server, on PATH")
	f.Var((*size)(&c.MaxMemory), "max-memory",
		"most `SIZE` of the private Redis, such as 512mb or 4gb; by default half of the machine's or the container's memory")
	c.Fsync = private.FsyncAlways
	f.Var(&choice{&c.Fsync, []string{private.FsyncAlways, private.FsyncEverySec}}, "fsync",
		"`WHEN` the private Redis has writes on the disk: always, before they are answered, or everysec, within a second")
	f.StringVar(&c.IssuerURL, "issuer-url", "",
		"`URL` that push tokens name as their issuer, under which receivers find the public keys; by default the address of --listen")
	f.StringVar(&c.SigningKeys, "signing-keys", "",
		"`FILE` with the private keys that sign push tokens, made if it is not there; by default they are kept where messages are")
	f.StringVar(&c.ClientCertificates, "client-certificates", "",
		"`DIR` of client certificates that subscriptions may name to show to their endpoints: NAME.crt with NAME.key, in PEM")
	f.Var(&logLevel{&c.LogLevel}, "log-level", "least `LEVEL` to log: debug, info, warn or error")
	c.LogFormat = formatAuto
	f.Var(&choice{&c.LogFormat, []string{formatAuto, formatText, formatJSON}}, "log-format",
		"log `FORMAT`: text, json, or auto for text on a terminal and json elsewhere")
	c.DrainTimeout = 30 * time.Second
	f.Var((*duration)(&c.DrainTimeout), "drain-timeout",
		"`TIME` for requests and pushes under way to finish when the server is stopped, such as 30s or 2m")
	f.IntVar(&c.MaxPushes, "max-pushes", pusher.DefaultMaxPushes,
		"`NUMBER` of pushes that may be with endpoints at once, of all subscriptions that this server pushes")
	c.DefaultExpiration.after = duration(subscriptions.DefaultExpiration)
	f.Var(&c.DefaultExpiration, "default-expiration-ttl",
		"`TIME` without use after which a subscription is deleted that is created without an expirationPolicy, 1d or more, or never")
	f.IntVar(&c.MetricsSeries, "metrics-series", metrics.DefaultSeries,
		"`NUMBER` of subscriptions, and as many topics, that have series of their own at /metrics; the rest is summed up")
	f.StringVar(&c.OTLPEndpoint, "otlp-endpoint", "",
		"`URL` of an OpenTelemetry receiver (OTLP over HTTP) that gets spans, such as http://127.0.0.1:4318; by default nothing is traced")
	f.Float64Var(&c.OTLPRatio, "otlp-ratio", 1, "`SHARE` of traces that begin at this server to record, 0 to 1")
	f.StringSliceVar(&c.PushAllow, "push-allow", nil,
		"`TARGETS` that pushes may go to beside public https endpoints, over http too, separated by commas: "+
			"networks such as 10.1.0.0/16, addresses, host names, *.NAME for all names below NAME")
	f.StringVar(&c.PushCAFile, "push-ca-file", "",
		"PEM `FILE` of certificate authorities that push endpoints may have certificates of, beside those that the system trusts")
	f.StringVar(&c.PushProxy, "push-proxy", "",
		"`URL` of the proxy that pushes go through, http or https; the environment's is not used")
	f.SortFlags = false
	return f
}

// validate finds what is wrong with the settings together, or with one that any text can be given for.
func (c Config) validate(given func(name string) bool) error {
	var wrong []error
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		wrong = append(wrong, usagef("--listen: %q is not HOST:PORT, such as 127.0.0.1:8085", c.Listen))
	}
	for _, host := range c.AllowedHosts {
		if host != server.AnyHost && !isHostName(host) {
			wrong = append(wrong, usagef("--allowed-host: %q is not a host name without a port, nor *", host))
		}
	}
	if (c.TLSCert == "") != (c.TLSKey == "") || given("tls-cert") && c.TLSCert == "" {
		wrong = append(wrong, usagef("--tls-cert and --tls-key: TLS takes both files; without TLS leave both out"))
	}
	if err := c.validateIssuer(given); err != nil {
		wrong = append(wrong, err)
	}
	if c.MaxPushes < 1 {
		wrong = append(wrong, usagef("--max-pushes: %d is not a number from 1", c.MaxPushes))
	}
	if ttl := c.DefaultExpiration; !ttl.never && time.Duration(ttl.after) < subscriptions.MinExpiration {
		wrong = append(wrong, usagef("--default-expiration-ttl: %v is less than a day; never keeps subscriptions for ever", time.Duration(ttl.after)))
	}
	if _, err := tracing.ParseEndpoint(c.OTLPEndpoint); given("otlp-endpoint") && err != nil {
		wrong = append(wrong, usagef("--otlp-endpoint: %w", err))
	}
	if !(c.OTLPRatio >= 0 && c.OTLPRatio <= 1) {
		wrong = append(wrong, usagef("--otlp-ratio: %v is not a share from 0 to 1", c.OTLPRatio))
	}
	if c.MetricsSeries < 1 {
		wrong = append(wrong, usagef("--metrics-series: %d is not a number from 1", c.MetricsSeries))
	}
	if c.MaxBodies != 0 && c.MaxBodies < leastBodies {
		wrong = append(wrong, usagef("--max-bodies: less than %v, which one large publish takes", size(leastBodies)))
	}
	if c.DrainTimeout < 0 {
		wrong = append(wrong, usagef("--drain-timeout: %v is negative", c.DrainTimeout))
	}
	if c.RedisURL == "" && given("redis-url") {
		// An unset shell variable must not turn a durable server into one that forgets.
		wrong = append(wrong, usagef("--redis-url is empty: give it a value, or leave it out to keep messages in memory"))
	}
	if c.RedisURL != "" {
		if _, err := redisstream.ParseURL(c.RedisURL); err != nil {
			wrong = append(wrong, usagef("--redis-url: %w", err))
		}
	}
	wrong = append(wrong, c.validatePushes(given)...)
	return errors.Join(append(wrong, c.validateDataDir(given)...)...)
}

// validateDataDir is about the private Redis: a setting of it that would have no effect is a mistake.
func (c Config) validateDataDir(given func(name string) bool) []error {
	var wrong []error
	if c.DataDir == "" {
		if given("data-dir") {
			wrong = append(wrong, usagef("--data-dir is empty: give it a value, or leave it out to keep messages in memory"))
		}
		for _, name := range []string{"max-memory", "fsync"} {
			if given(name) {
				wrong = append(wrong, usagef("--%s is about the private Redis of --data-dir, which is not given", name))
			}
		}
		return wrong
	}
	if c.RedisURL != "" {
		wrong = append(wrong, usagef("--data-dir and --redis-url: messages are kept in one place; leave one of them out"))
	}
	if c.MaxMemory != 0 && c.MaxMemory < private.LeastMemory {
		wrong = append(wrong, usagef("--max-memory: less than %v, with which Redis could hold nothing", size(private.LeastMemory)))
	}
	return wrong
}

// The bounds of the room for bodies: it holds the largest publish and another.
const (
	leastBodies   = 32 << 20
	defaultBodies = 64 << 20
	mostBodies    = 1 << 30
)

// bodies is the room for the bodies of requests.
func (c Config) bodies() int64 {
	if c.MaxBodies != 0 {
		return c.MaxBodies
	}
	return min(max(private.UsableMemory()/16, defaultBodies), mostBodies)
}

// expiration is what the domain gives subscriptions that leave it to the server.
func (c Config) expiration() time.Duration {
	if c.DefaultExpiration.never {
		return subscriptions.NeverExpires
	}
	return time.Duration(c.DefaultExpiration.after)
}

// isHostName tells whether s looks like a DNS name.
func isHostName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '.' || r == '_')
	})
}

// listenAddress resolves the address, so that what is checked is what is bound.
func (c Config) listenAddress() (*net.TCPAddr, error) {
	address, err := net.ResolveTCPAddr("tcp", c.Listen)
	if err != nil {
		return nil, usagef("--listen: %w", err)
	}
	if !address.IP.IsLoopback() && !c.AllowUnauthenticated {
		return nil, usagef("--listen %s is reachable from other machines, and requests are not authenticated: "+
			"listen on 127.0.0.1, or add --allow-unauthenticated if only trusted clients can connect", c.Listen)
	}
	return address, nil
}
