//go:build linux || darwin

package private

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// refused checks that a folder does not open, and that the error has all of these words.
func refused(t *testing.T, o Options, words ...string) error {
	t.Helper()
	s, err := Open(t.Context(), o)
	if err == nil {
		_ = s.Close()
		t.Fatalf("opened; want an error with %q", words)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q is not in: %v", word, err)
		}
	}
	return err
}

func TestStopAndReopenKeepData(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "made", "for us")
	for _, fsync := range []string{FsyncAlways, FsyncEverySec} {
		s := openServer(t, dir, func(o *Options) { o.AppendFsync = fsync })
		for name, want := range map[string]string{
			"appendfsync": fsync, "maxmemory": "67108864", "maxmemory-policy": "noeviction", "save": "", "port": "0",
		} {
			if got := s.setting(name); got != want {
				t.Errorf("%s is %q", name, got)
			}
		}
		if got := s.get("k"); got != "" && got != FsyncAlways {
			t.Errorf("found %q", got)
		}
		s.set("k", fsync)
		s.stop()
		if status := s.Status(); status.Up || status.Why != "it is closed" {
			t.Errorf("closed, but %+v", status)
		}
	}
	if got := openServer(t, dir, nil).get("k"); got != FsyncEverySec {
		t.Errorf("found %q", got)
	}
}

func TestFolderIsOurs(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	s := openServer(t, dir, nil)
	for path, want := range map[string]os.FileMode{
		"": 0o700 | os.ModeDir, "redis": 0o700 | os.ModeDir, "redis/redis.sock": 0o700 | os.ModeSocket,
		"lock": 0o600, "redis.lock": 0o600, "format": 0o600,
	} {
		info, err := os.Stat(filepath.Join(dir, path))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != want {
			t.Errorf("%s has mode %v, not %v", path, info.Mode(), want)
		}
	}
	s.stop()
	if _, err := os.Stat(filepath.Join(dir, "redis/redis.sock")); err == nil {
		t.Error("the socket stays after a stop")
	}
}

func TestOneServerAtATime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := openServer(t, dir, nil)
	first.set("k", "v")
	host, _ := os.Hostname()
	err := refused(t, Options{Dir: dir}, dir, "another server", "process", host)
	if !errors.Is(err, ErrInUse) {
		t.Errorf("not ErrInUse: %v", err)
	}
	if got := first.get("k"); got != "v" {
		t.Errorf("the first has %q", got)
	}
	first.stop()
	if got := openServer(t, dir, nil).get("k"); got != "v" {
		t.Errorf("the second found %q", got)
	}
}

// A folder may have any name: it becomes an argument of redis-server, and a part of a URL.
func TestNamesOfFolders(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"plain", "with space", `quo"te'd`, "p@ss", "50%25?x#y", "ünïcödé", "-dash", "[glob]*", strings.Repeat("long", 50),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), name)
			s := openServer(t, dir, nil)
			s.set("k", "v")
			socket := s.folder.socket
			if inside := strings.HasPrefix(socket, dir); inside != (len(dir) < 80) || len(socket) > socketLimit {
				t.Errorf("socket %s", socket)
			}
			s.stop()
			if _, err := os.Stat(filepath.Dir(socket)); err == nil && len(dir) > 200 {
				t.Errorf("%s stays", filepath.Dir(socket))
			}
			if got := openServer(t, dir, nil).get("k"); got != "v" {
				t.Errorf("found %q", got)
			}
		})
	}
}

func TestRelativeFolder(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	s := openServer(t, "data", nil)
	s.set("k", "v")
	if s.Dir() != filepath.Join(dir, "data") {
		t.Errorf("folder %s", s.Dir())
	}
}

func TestLeftOversAreRemoved(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 50)) // its socket is elsewhere
	openServer(t, dir, nil).stop()
	elsewhere, err := chooseSocket(dir)
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		filepath.Join(dir, "lock"): "process 1 on nowhere\n" + elsewhere + "\n",
		elsewhere:                  "",
		filepath.Join(dir, "redis/temp-rewriteaof-bg-17.aof"): "half",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	openServer(t, dir, nil)
	for _, path := range []string{filepath.Dir(elsewhere), filepath.Join(dir, "redis/temp-rewriteaof-bg-17.aof")} {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s stays", path)
		}
	}
}

func TestOtherFormatsAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	openServer(t, dir, nil).stop()
	if err := os.WriteFile(filepath.Join(dir, "format"), []byte("2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, Options{Dir: dir}, dir, `"2"`, "newer")
}

func TestForeignFoldersAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "lost+found"), 0o700); err != nil {
		t.Fatal(err)
	}
	openServer(t, dir, nil).stop()

	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "thesis.tex"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, Options{Dir: dir}, dir, "thesis.tex", "empty")
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 3 {
		t.Errorf("it holds %v now, %v", entries, err)
	}
}

func TestUnwritableFolders(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, Options{Dir: filepath.Join(file, "below")}, file, "not a directory")
	refused(t, Options{Dir: file}, file, "not a directory")
	if runtime.GOOS == "linux" {
		refused(t, Options{Dir: "/proc/nothing"}, "/proc/nothing")
	}
	if os.Getuid() != 0 { // nothing is forbidden to root
		dir := t.TempDir()
		if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatal(err)
		}
		refused(t, Options{Dir: dir}, dir, "permission denied")
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	refused(t, Options{}, "no folder")
	refused(t, Options{Dir: dir, AppendFsync: "no"}, `"no"`, FsyncAlways, FsyncEverySec)
	refused(t, Options{Dir: dir, MaxMemory: 1000}, "1000", "8388608")
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("something was made: %v %v", entries, err)
	}
}

func TestMissingProgram(t *testing.T) {
	empty := t.TempDir()
	t.Setenv("PATH", empty)
	refused(t, Options{Dir: t.TempDir()}, "redis-server is not on PATH", "apt-get install redis-server", "brew install redis", "7 or later")
	refused(t, Options{Dir: t.TempDir(), Program: "my-redis"}, "my-redis is not on PATH")
	refused(t, Options{Dir: t.TempDir(), Program: "/nowhere/redis"}, "/nowhere/redis")
}

func TestVersions(t *testing.T) {
	t.Parallel()
	for version, right := range map[string]bool{
		"Redis server v=6.2.14 sha=00000000:0 malloc=jemalloc-5.1.0 bits=64 build=1": false,
		"Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=1": true,
		"Redis server v=8.4.0 sha=00000000:1 malloc=libc bits=64 build=1":            true,
		"Redis server v=10.0 sha=00000000:1":                                         true,
		"Valkey server v=8.1.1 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=1": true,
		"BusyBox 1.36": false,
	} {
		program := script(t, `[ "$1" = --version ] && echo "`+version+`"`)
		err := checkVersion(t.Context(), program)
		if (err == nil) != right {
			t.Errorf("%s: %v", version, err)
		}
		if err != nil && !strings.Contains(err.Error(), program) {
			t.Errorf("%v", err)
		}
	}
	old := script(t, "echo Redis server v=6.2.14 sha=0")
	refused(t, Options{Dir: t.TempDir(), Program: old}, old, "version 6.2.14", "Redis 7 or later")
	refused(t, Options{Dir: t.TempDir(), Program: script(t, "echo broken; exit 3")}, "exit status 3", "broken")
}
