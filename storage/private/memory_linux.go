package private

import (
	"os"
	"path"
	"strconv"
	"strings"
)

// UsableMemory is the machine's memory, or the least limit of the control groups that this process is in.
func UsableMemory() int64 {
	least := 1024 * field("/proc/meminfo", "MemTotal:")
	groups, _ := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(groups)) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, _ := strings.Cut(rest, ":")
		switch controllers {
		case "": // version 2
			least = leastLimit(least, "/sys/fs/cgroup", group, "memory.max")
		case "memory": // version 1
			least = leastLimit(least, "/sys/fs/cgroup/memory", group, "memory.limit_in_bytes")
		}
	}
	return least
}

// leastLimit looks at a group and at all above it. In a container the group may be known by the name that it has outside,
// while its files are at the root.
func leastLimit(least int64, root, group, file string) int64 {
	for ; ; group = path.Dir(group) {
		text, _ := os.ReadFile(path.Join(root, group, file))
		limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // "max" is none
		if err == nil && limit > 0 && (least == 0 || limit < least) {
			least = limit
		}
		if group == "/" || group == "." || group == "" {
			return least
		}
	}
}

// oomKills is how often the kernel has killed a process since memory ran out.
func oomKills() int64 { return field("/proc/vmstat", "oom_kill") }

// field is the number after a name in a file of /proc, or 0.
func field(file, name string) int64 {
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == name {
			number, _ := strconv.ParseInt(words[1], 10, 64)
			return number
		}
	}
	return 0
}
