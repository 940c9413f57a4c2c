package redisstream

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// URLForms describes what ParseURL takes, for help texts and errors.
const URLForms = `redis://[[USER]:PASSWORD@]HOST[:PORT][/DB]
rediss://…  the same over TLS; ?ca=FILE names the certificates to trust, tls-name=HOST the host they are for
unix://[[USER]:PASSWORD@]/path/to/socket[?db=DB]
redis+sentinel://[[USER]:PASSWORD@]HOST[:PORT][,HOST[:PORT]]…/MASTER[/DB][?sentinel-user=USER&sentinel-password=PASSWORD]
rediss+sentinel://…  the same over TLS, also to the sentinels`

var schemes = []string{"redis", "rediss", "unix", "redis+sentinel", "rediss+sentinel"}

// ParseURL reads a Redis URL. Its forms are those of URLForms; parts with special characters are percent-encoded. A cluster
// is named by any of its nodes, as redis:// or rediss://. No error holds any part of the URL but its scheme and the names of
// its parameters: it may hold a password.
func ParseURL(text string) (*redis.UniversalOptions, error) {
	scheme, rest, _ := strings.Cut(text, "://")
	if !slices.Contains(schemes, scheme) {
		return nil, errors.New("redis URL: its scheme is none of these:\n" + URLForms)
	}
	p, err := splitURL(rest)
	if err != nil {
		return nil, err
	}
	o := &redis.UniversalOptions{Username: p.user, Password: p.password}
	switch scheme {
	case "unix":
		err = p.socket(o)
	case "redis", "rediss":
		err = p.server(o)
	default:
		err = p.sentinels(o)
	}
	if err == nil && strings.HasPrefix(scheme, "rediss") {
		err = p.secure(o)
	}
	if err == nil {
		err = p.leftOver(scheme)
	}
	if err != nil {
		return nil, err
	}
	return o, nil
}

// parts of a URL after its scheme, decoded.
type parts struct {
	user, password string
	hosts, path    string
	query          url.Values
}

// splitURL does not use url.Parse, whose errors repeat the URL and which knows no lists of hosts.
func splitURL(rest string) (*parts, error) {
	p := &parts{}
	rest, query, _ := strings.Cut(rest, "?")
	authority, path, _ := strings.Cut(rest, "/")
	if strings.Contains(query+path, "@") {
		return nil, errors.New("redis URL: an @ after the host: a user or password with special characters must be percent-encoded")
	}
	var err error
	if p.query, err = url.ParseQuery(query); err != nil {
		return nil, errors.New("redis URL: its query is not well-formed")
	}
	if p.path, err = url.PathUnescape(path); err != nil {
		return nil, errors.New("redis URL: its path is not well-formed")
	}
	p.hosts = authority
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		p.hosts = authority[at+1:]
		user, password, _ := strings.Cut(authority[:at], ":")
		var err2 error
		p.user, err = url.PathUnescape(user)
		p.password, err2 = url.PathUnescape(password)
		if err != nil || err2 != nil {
			return nil, errors.New("redis URL: its user or password is not percent-encoded as it should be")
		}
	}
	return p, nil
}

// take reads a query parameter and counts it as known.
func (p *parts) take(name string) string {
	v := p.query.Get(name)
	p.query.Del(name)
	return v
}

// leftOver refuses parameters that nobody took.
func (p *parts) leftOver(scheme string) error {
	if len(p.query) == 0 {
		return nil
	}
	return fmt.Errorf("redis URL: unknown parameter %q for %s; the forms are:\n%s",
		slices.Sorted(maps.Keys(p.query))[0], scheme, URLForms)
}

func (p *parts) socket(o *redis.UniversalOptions) error {
	if p.hosts != "" || p.path == "" {
		return errors.New("redis URL: unix needs an absolute path, as in unix:///path/to/socket")
	}
	o.Addrs = []string{"/" + p.path}
	return p.database(o, p.take("db"))
}

func (p *parts) server(o *redis.UniversalOptions) error {
	var err error
	if o.Addrs, err = addresses(p.hosts, "6379"); err != nil {
		return err
	}
	if len(o.Addrs) > 1 {
		return errors.New("redis URL: name one server; the other nodes of a cluster are found, and sentinels have a form of their own:\n" + URLForms)
	}
	db := p.take("db")
	if p.path != "" {
		db = p.path
	}
	return p.database(o, db)
}

func (p *parts) sentinels(o *redis.UniversalOptions) error {
	var err error
	if o.Addrs, err = addresses(p.hosts, "26379"); err != nil {
		return err
	}
	master, db, _ := strings.Cut(p.path, "/")
	if master == "" {
		return errors.New("redis URL: the name of the master is missing: redis+sentinel://HOST:PORT/MASTER")
	}
	o.MasterName = master
	o.SentinelUsername, o.SentinelPassword = p.take("sentinel-user"), p.take("sentinel-password")
	return p.database(o, db)
}

func (p *parts) database(o *redis.UniversalOptions, db string) error {
	if db == "" {
		return nil
	}
	n, err := strconv.Atoi(db)
	if err != nil || n < 0 {
		return errors.New("redis URL: the database must be a number")
	}
	o.DB = n
	return nil
}

// secure turns TLS on. Each server's certificate must be for the host that is dialled, or for tls-name: a cluster or a
// sentinel often names its servers by addresses that no certificate holds.
func (p *parts) secure(o *redis.UniversalOptions) error {
	o.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: p.take("tls-name")}
	return trust(o, p.take("ca"))
}

// trust makes a TLS connection accept certificates signed by those in file, and no others.
func trust(o *redis.UniversalOptions, file string) error {
	if file == "" {
		return nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("certificates for Redis: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return fmt.Errorf("certificates for Redis: %s holds none in PEM form", file)
	}
	o.TLSConfig.RootCAs = pool
	return nil
}

// addresses reads a list of hosts, each with a port if it is not the usual one.
func addresses(hosts, port string) ([]string, error) {
	var list []string
	for host := range strings.SplitSeq(hosts, ",") {
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(strings.Trim(host, "[]"), port)
		}
		name, number, err := net.SplitHostPort(host)
		if n, err2 := strconv.Atoi(number); err != nil || err2 != nil || name == "" || n < 1 || n > 65535 {
			return nil, errors.New("redis URL: a host is missing or its port is not a number from 1 to 65535")
		}
		list = append(list, host)
	}
	return list, nil
}
