package private

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// programs are what is looked for on PATH.
var programs = []string{"redis-server", "valkey-server"}

// leastVersion is the first major version with what the store's scripts need, and with an append-only file in parts.
const leastVersion = 7

// findProgram is the path of a redis-server that is new enough.
func findProgram(ctx context.Context, name string) (string, error) {
	candidates := programs
	if name != "" {
		candidates = []string{name}
	}
	for _, candidate := range candidates {
		path, err := exec.LookPath(candidate)
		if err == nil {
			return path, checkVersion(ctx, path)
		}
		if name != "" && !errors.Is(err, exec.ErrNotFound) {
			return "", err // exec names the program
		}
	}
	return "", fmt.Errorf("%s is not on PATH: install Redis %d or later (apt-get install redis-server, or brew install redis) or Valkey",
		candidates[0], leastVersion)
}

// versionNumber is how redis-server and valkey-server write theirs.
var versionNumber = regexp.MustCompile(`\bv=(\d+)[.\d]*`)

func checkVersion(ctx context.Context, path string) error {
	output, err := exec.CommandContext(ctx, path, "--version").CombinedOutput()
	if err != nil {
		return fmt.Errorf("ask %s for its version: %w: %.200s", path, err, strings.TrimSpace(string(output)))
	}
	match := versionNumber.FindStringSubmatch(string(output))
	if match == nil {
		return fmt.Errorf("%s does not tell its version but says %.200q: is it a redis-server?", path, output)
	}
	if major, err := strconv.Atoi(match[1]); err != nil || major < leastVersion {
		return fmt.Errorf("%s is version %s: Postrider needs Redis %d or later, or Valkey", path, strings.TrimPrefix(match[0], "v="), leastVersion)
	}
	return nil
}
