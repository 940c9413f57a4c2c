package redistest

import (
	"bufio"
	"errors"
	"net"
	"os"
	"os/exec"
	"runtime"
	"testing"
)

// TestChildBinary is a test binary that starts a server, says where, and waits to be killed: the child of the test below.
func TestChildBinary(t *testing.T) {
	if os.Getenv("REDISTEST_CHILD") == "" {
		return
	}
	_, _ = os.Stdout.WriteString(Shared(t).Socket() + "\n")
	select {}
}

func TestServerEndsWithKilledBinary(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there is no redis-server for Windows")
	}
	child := exec.Command(os.Args[0], "-test.run=^TestChildBinary$")
	child.Env = append(os.Environ(), "REDISTEST_CHILD=1", "TMPDIR="+t.TempDir())
	output, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	socket := bufio.NewScanner(output)
	if !socket.Scan() {
		t.Fatalf("the child said nothing: %v", child.Wait())
	}
	if !answers(socket.Text()) {
		t.Error("the child's server does not answer")
	}
	_ = child.Process.Kill()
	_ = child.Wait()
	err = poll(func() error {
		if answers(socket.Text()) {
			return errors.New("the server outlived its test binary")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func answers(socket string) bool {
	connection, err := net.Dial("unix", socket)
	if err == nil {
		_ = connection.Close()
	}
	return err == nil
}
