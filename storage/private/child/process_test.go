//go:build unix

package child

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait. Nothing takes nearly as long.
const patience = 30 * time.Second

// start runs a redis-server in a folder of its own, on a socket in it.
func start(t *testing.T, args ...string) *Process {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatalf("%v: scripts/test installs what the tests need", err)
	}
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	p, err := Start(Command{
		Program: program, Dir: dir, Socket: socket,
		Args: append([]string{"--port", "0", "--unixsocket", socket, "--dir", dir, "--save", ""}, args...),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

func (p *Process) ask(t *testing.T, command string) string {
	t.Helper()
	reply, err := p.Ask(t.Context(), command)
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return reply
}

func await(t *testing.T, p *Process) {
	t.Helper()
	if err := p.Await(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestAsksAndStops(t *testing.T) {
	t.Parallel()
	p := start(t)
	await(t, p)
	if got := p.ask(t, "ECHO twelve"); got != "twelve" {
		t.Errorf("got %q", got)
	}
	if got := p.ask(t, "SET k v"); got != "OK" {
		t.Errorf("got %q", got)
	}
	var reply Reply
	if _, err := p.Ask(t.Context(), "NONSENSE"); !errors.As(err, &reply) || !strings.HasPrefix(reply.Error(), "ERR unknown command") {
		t.Errorf("got %v", err)
	}
	if p.Ended() {
		t.Error("ended")
	}
	if err := p.Stop(patience); err != nil || !p.Ended() {
		t.Error(err)
	}
	if _, err := p.Ask(t.Context(), "PING"); err == nil {
		t.Error("answers after its end")
	}
	p.Kill() // does nothing
	if err := p.Stop(patience); err != nil {
		t.Error(err)
	}
}

func TestStopsWhatDoesNotTakeTheCommand(t *testing.T) {
	t.Parallel()
	p := start(t, "--requirepass", "secret")
	await(t, p)
	if err := p.Stop(patience); err != nil {
		t.Error(err)
	}
}

func TestStopEndsPatience(t *testing.T) {
	t.Parallel()
	p := start(t)
	await(t, p)
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	p.socket = "" // it would be asked for askTimeout
	err := p.Stop(time.Millisecond)
	var end *EndError
	if !errors.As(err, &end) || !end.Killed() {
		t.Error(err)
	}
}

func TestErrSaysWhy(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ arg, value, says string }{
		"unknown setting":   {"--no-such-setting", "1", "no-such-setting"},
		"unwritable folder": {"--dir", "/proc/self/nowhere", "nowhere"},
	} {
		p := start(t, test.arg, test.value)
		err := p.Await(t.Context())
		var end *EndError
		if !errors.As(err, &end) || !strings.Contains(err.Error(), test.says) || end.Killed() {
			t.Errorf("%s: %v", name, err)
		}
		if !strings.HasPrefix(err.Error(), "redis-server ended (exit status 1)") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestErrTellsOfAKill(t *testing.T) {
	t.Parallel()
	p := start(t)
	await(t, p)
	if err := syscall.Kill(p.Pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	var end *EndError
	if !errors.As(p.Err(), &end) || !end.Killed() || end.Error() != "redis-server ended (signal: killed)" {
		t.Errorf("%v", p.Err())
	}
}

func TestMissingProgram(t *testing.T) {
	t.Parallel()
	if _, err := Start(Command{Program: "/does/not/exist", Dir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "/does/not/exist") {
		t.Errorf("%v", err)
	}
}

// A fork that rewrites the append-only file does not see that Redis was killed until it has written a key.
func TestForksEndWithTheirParent(t *testing.T) {
	t.Parallel()
	p := start(t, "--appendonly", "yes")
	await(t, p)
	for i := range 100 {
		p.ask(t, fmt.Sprintf("SET key%d v", i))
	}
	p.ask(t, "CONFIG SET rdb-key-save-delay 1000000") // microseconds
	p.ask(t, "BGREWRITEAOF")
	if !strings.Contains(p.ask(t, "INFO persistence"), "aof_rewrite_in_progress:1") {
		t.Fatal("no rewrite under way")
	}
	p.Kill()

	// It has returned: nobody holds the pipe of the output any more, which the fork had inherited and would for 100 s.
}

// The watch must work where it is not used, too, so that it is tested on Linux.
func TestWatchKillsTheGroup(t *testing.T) {
	t.Parallel()
	sleep := exec.Command("sleep", "1000")
	sleep.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	w, err := newWatch(sleep.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	_ = w.mouth.Close() // as the kernel does for a process that ends
	if err := sleep.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("ended with %v", err)
	}
	w.release()
}

func TestReleasedWatchKillsNobody(t *testing.T) {
	t.Parallel()
	p := start(t)
	release, err := watch(p.Pid())
	if err != nil {
		t.Fatal(err)
	}
	await(t, p)
	release()
	p.ask(t, "PING")
}
