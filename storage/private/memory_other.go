//go:build !linux

package private

import (
	"os/exec"
	"strconv"
	"strings"
)

// UsableMemory is the machine's memory, or 0 where this does not find out.
func UsableMemory() int64 {
	text, err := exec.Command("/usr/sbin/sysctl", "-n", "hw.memsize").Output()
	if err != nil {
		return 0
	}
	bytes, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return bytes
}

// oomKills is not counted here.
func oomKills() int64 { return 0 }
