package private

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// endOrphans kills the processes to which a lock was handed down, and counts them. Whoever calls it has the server's lock, so
// their server is dead. The kernel has killed its redis-server, but not a fork that rewrites the append-only file: that
// notices only when it has written a key, which may be a whole topic.
func endOrphans(lock *os.File) (killed int) {
	ours, err := lock.Stat()
	if err != nil {
		return 0
	}
	self, _ := os.Readlink("/proc/self/exe")
	links, _ := filepath.Glob("/proc/[0-9]*/fd/3")
	for _, link := range links {
		theirs, err := os.Stat(link)
		if err != nil || !os.SameFile(ours, theirs) {
			continue
		}
		process := filepath.Dir(filepath.Dir(link))
		if program, err := os.Readlink(filepath.Join(process, "exe")); err != nil || program == self {
			continue // us, or a copy of us on its way to becoming another program
		}
		pid, err := strconv.Atoi(filepath.Base(process))
		if err == nil && syscall.Kill(pid, syscall.SIGKILL) == nil {
			killed++
		}
	}
	return killed
}
