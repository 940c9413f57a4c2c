package private

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"strconv"
)

// The values of Options.AppendFsync.
const (
	FsyncAlways   = "always"
	FsyncEverySec = "everysec"
)

// Options are what a private Redis is started with. Only Dir is required.
type Options struct {
	// Dir is the folder. It is made if it is not there.
	Dir string
	// MaxMemory is how many bytes Redis may hold before publishes are refused; by default half of what this process may use.
	// The other half is for the copy that Redis makes of what changes while it rewrites its file, and for everything else.
	MaxMemory int64
	// AppendFsync tells when a write is on the disk: by default FsyncAlways, before it is answered. With FsyncEverySec a
	// power failure, though no crash, can cost the last second.
	AppendFsync string
	// Program is the redis-server; by default the one on PATH, or else valkey-server.
	Program string
	// Logger is told of deaths and repairs, at most once a second, and at the level debug what Redis logs. It is slog.Default()
	// by default.
	Logger *slog.Logger
}

// LeastMemory is the least that MaxMemory may be: an empty Redis takes about 1 MiB.
const LeastMemory = 8 << 20

// complete checks the options and fills in what is left out.
func (o Options) complete() (Options, error) {
	if !supported {
		return o, fmt.Errorf("a private Redis runs on Linux and macOS, not on %s: use a Redis that runs elsewhere", runtime.GOOS)
	}
	if o.Dir == "" {
		return o, errors.New("private Redis: no folder is given")
	}
	var err error
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return o, fmt.Errorf("private Redis: %w", err)
	}
	switch o.AppendFsync {
	case "":
		o.AppendFsync = FsyncAlways
	case FsyncAlways, FsyncEverySec:
	default:
		return o, fmt.Errorf("private Redis: appendfsync %q is neither %s nor %s", o.AppendFsync, FsyncAlways, FsyncEverySec)
	}
	if o.MaxMemory == 0 {
		o.MaxMemory = defaultMemory()
	}
	if o.MaxMemory < LeastMemory {
		return o, fmt.Errorf("private Redis: %d bytes of memory are too few: it needs %d", o.MaxMemory, LeastMemory)
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o, nil
}

// arguments are the settings of the redis-server, in the form of its command line.
func (o Options) arguments(dir, socket string, maxMemory int64) []string {
	return []string{
		"--port", "0", "--unixsocket", socket, "--unixsocketperm", "700",
		"--dir", dir, "--daemonize", "no", "--logfile", "", "--databases", "1",
		"--appendonly", "yes", "--appendfsync", o.AppendFsync, "--no-appendfsync-on-rewrite", "no", "--save", "",
		// Half a command at the end was never answered: it is cut off.
		"--aof-load-truncated", "yes",
		// We have it written anew, when there is room: rewrite.go.
		"--auto-aof-rewrite-percentage", "0",
		"--maxmemory", strconv.FormatInt(maxMemory, 10), "--maxmemory-policy", "noeviction",
	}
}
