package bench

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// ticksPerSecond is the unit of times in /proc, the same on every Linux.
const ticksPerSecond = 100

// ProcessCPU returns a function that tells what a process has used so far; nil where that cannot be known.
func ProcessCPU(pid int) func() (time.Duration, error) {
	path := fmt.Sprintf("/proc/%d/stat", pid)
	return func() (time.Duration, error) {
		text, err := os.ReadFile(path)
		if err != nil {
			return 0, err
		}
		return parseStat(string(text))
	}
}

// parseStat reads user and system time, fields 14 and 15. Field 2 is the program's name, which may hold anything.
func parseStat(text string) (time.Duration, error) {
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	const user, system = 14 - 3, 15 - 3
	if len(fields) <= system {
		return 0, fmt.Errorf("/proc has only %d fields of a process", len(fields))
	}
	var ticks int64
	for _, i := range []int{user, system} {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("field %d of a process in /proc: %w", i, err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond, nil
}
