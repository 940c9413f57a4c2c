//go:build unix

package child

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// killGroup kills what is left of a group.
func killGroup(group int) { _ = syscall.Kill(-group, syscall.SIGKILL) }

// watch kills a group of processes when this process ends, however it ends. Release ends the watch.
func watch(group int) (release func(), _ error) {
	w, err := newWatch(group)
	if err != nil {
		return func() {}, fmt.Errorf("start the watch over redis-server: %w", err)
	}
	return w.release, nil
}

// watcher is a shell that waits for something to read from us: our end is the end of what it reads.
type watcher struct {
	shell *exec.Cmd
	mouth *os.File
}

func newWatch(group int) (*watcher, error) {
	ears, mouth, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	w := &watcher{exec.Command("/bin/sh", "-c", `read -r _; kill -s KILL -- "-$0"`, strconv.Itoa(group)), mouth}
	w.shell.Stdin = ears
	w.shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C is not for it
	err = w.shell.Start()
	_ = ears.Close()
	if err != nil {
		_ = mouth.Close()
		return nil, err
	}
	return w, nil
}

func (w *watcher) release() {
	_ = w.shell.Process.Kill() // before the pipe is closed: it has nothing to kill any more
	_ = w.shell.Wait()
	_ = w.mouth.Close()
}
