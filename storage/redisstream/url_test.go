package redisstream_test

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"postrider/storage/redisstream"
)

func TestParseURL(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		url  string
		want redis.UniversalOptions
		tls  bool
	}{
		{url: "redis://localhost", want: redis.UniversalOptions{Addrs: []string{"localhost:6379"}}},
		{url: "redis://h:1234/3", want: redis.UniversalOptions{Addrs: []string{"h:1234"}, DB: 3}},
		{url: "redis://h?db=3", want: redis.UniversalOptions{Addrs: []string{"h:6379"}, DB: 3}},
		{url: "redis://:pw@h", want: redis.UniversalOptions{Addrs: []string{"h:6379"}, Password: "pw"}},
		{url: "redis://u:p%40%2F%3F@h/", want: redis.UniversalOptions{Addrs: []string{"h:6379"}, Username: "u", Password: "p@/?"}},
		{url: "redis://u:p@w:d@h", want: redis.UniversalOptions{Addrs: []string{"h:6379"}, Username: "u", Password: "p@w:d"}},
		{url: "redis://[::1]", want: redis.UniversalOptions{Addrs: []string{"[::1]:6379"}}},
		{url: "redis://[::1]:7000", want: redis.UniversalOptions{Addrs: []string{"[::1]:7000"}}},
		{url: "rediss://h", tls: true, want: redis.UniversalOptions{Addrs: []string{"h:6379"}}},
		{url: "unix:///run/redis.sock", want: redis.UniversalOptions{Addrs: []string{"/run/redis.sock"}}},
		{url: "unix://u:p@/run/a%20b.sock?db=2", want: redis.UniversalOptions{
			Addrs: []string{"/run/a b.sock"}, Username: "u", Password: "p", DB: 2,
		}},
		{url: "redis+sentinel://a,b:1/mymaster", want: redis.UniversalOptions{
			Addrs: []string{"a:26379", "b:1"}, MasterName: "mymaster",
		}},
		{url: "redis+sentinel://u:p@a/m/4?sentinel-user=su&sentinel-password=s%26p", want: redis.UniversalOptions{
			Addrs: []string{"a:26379"}, MasterName: "m", DB: 4, Username: "u", Password: "p",
			SentinelUsername: "su", SentinelPassword: "s&p",
		}},
		{url: "rediss+sentinel://a/m", tls: true, want: redis.UniversalOptions{Addrs: []string{"a:26379"}, MasterName: "m"}},
	} {
		got, err := redisstream.ParseURL(c.url)
		if err != nil {
			t.Errorf("%s: %v", c.url, err)
			continue
		}
		if (got.TLSConfig != nil) != c.tls {
			t.Errorf("%s: TLS is %v", c.url, got.TLSConfig)
		}
		if text(*got) != text(c.want) {
			t.Errorf("%s:\n got %s\nwant %s", c.url, text(*got), text(c.want))
		}
	}
}

// text is what a URL can set.
func text(o redis.UniversalOptions) string {
	return strings.Join([]string{
		strings.Join(o.Addrs, ","), string(rune('0' + o.DB)), o.Username, o.Password, o.MasterName, o.SentinelUsername, o.SentinelPassword,
	}, " | ")
}

// Each of these is wrong in a way that an error should explain without repeating what may be a secret.
var wrongURLs = []string{
	"",
	"s3cret",
	"localhost:6379",
	"s3cret://localhost",
	"http://:s3cret@localhost",
	"redis:/:s3cret@localhost",
	"redis://",
	"redis://:s3cret@",
	"redis://:s3cret@h:port",
	"redis://:s3cret@h:0",
	"redis://:s3cret@h:99999",
	"redis://:s3cret@a,b",
	"redis://:s3cret@h/database",
	"redis://:s3cret@h/-1",
	"redis://:s3cret@h?db=x",
	"redis://:s3cret@h?unknown=1",
	"redis://:s3cret@h?a=%zz",
	"redis://:s3cret@h/%zz",
	"redis://:s3cret%zz@h",
	"redis://:pass/s3cret@h",
	"redis://:1234/s3cret@h",
	"redis://u:1234/s3cret@h",
	"redis://u:1234?s3cret@h",
	"redis://u:1234?s3cret=@h",
	"redis://u:1234#s3cret@h",
	"rediss://:s3cret@h?ca=/does/not/exist",
	"unix://:s3cret@h/path",
	"unix://:s3cret@",
	"redis+sentinel://:s3cret@h",
	"redis+sentinel://:s3cret@h/m/x",
	"redis+sentinel://h/m?sentinel-password=s3cret&unknown=1",
	"redis+sentinel://u:1/s3cret@h/m",
}

func TestWrongURLsKeepSecrets(t *testing.T) {
	t.Parallel()
	for _, url := range wrongURLs {
		_, err := redisstream.Open(t.Context(), url, redisstream.Options{})
		if err == nil {
			t.Errorf("%s was taken", url)
			continue
		}
		if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: the error tells the password: %v", url, err)
		}
	}
}

func TestUnknownParameterIsNamed(t *testing.T) {
	t.Parallel()
	_, err := redisstream.ParseURL("redis://h?dbb=1")
	if err == nil || !strings.Contains(err.Error(), `"dbb"`) || !strings.Contains(err.Error(), "redis+sentinel://") {
		t.Errorf("got %v", err)
	}
}

func FuzzParseURL(f *testing.F) {
	for _, url := range wrongURLs {
		f.Add(url)
	}
	f.Fuzz(func(t *testing.T, url string) {
		o, err := redisstream.ParseURL(url)
		if (o == nil) == (err == nil) {
			t.Errorf("options %v and error %v", o, err)
		}
	})
}
