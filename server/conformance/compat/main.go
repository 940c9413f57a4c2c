// Command compat compares openapi.yaml with Google's published description of the API. It fails when ours contradicts theirs,
// and writes docs/compatibility.md, which says of every method and field whether it is served.
package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"postrider"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "compat:", err)
		os.Exit(1)
	}
}

func run() error {
	root, err := moduleDir("postrider")
	if err != nil {
		return err
	}
	ours, theirs, err := load()
	if err != nil {
		return err
	}
	if problems := disagreements(ours, theirs); len(problems) > 0 {
		return fmt.Errorf("openapi.yaml contradicts Google's API:\n\t%s", strings.Join(problems, "\n\t"))
	}
	path := filepath.Join(root, "docs", "compatibility.md")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, report(ours, theirs), 0o644)
}

// load reads both descriptions of the API.
func load() (ours, theirs *description, err error) {
	google, err := moduleDir("google.golang.org/api")
	if err != nil {
		return nil, nil, err
	}
	discovery, err := os.ReadFile(filepath.Join(google, "pubsub", "v1", "pubsub-api.json"))
	if err != nil {
		return nil, nil, err
	}
	if ours, err = readContract(postrider.OpenAPI); err != nil {
		return nil, nil, err
	}
	theirs, err = readDiscovery(discovery)
	return ours, theirs, err
}

// moduleDir is where the go command keeps a module.
func moduleDir(module string) (string, error) {
	dir, err := goOutput("list", "-m", "-f", "{{.Dir}}", module)
	if err != nil || dir != "" {
		return dir, err
	}
	// Nothing has been built from it here yet.
	if _, err := goOutput("mod", "download", module); err != nil {
		return "", err
	}
	return goOutput("list", "-m", "-f", "{{.Dir}}", module)
}

func goOutput(args ...string) (string, error) {
	var stderr bytes.Buffer
	cmd := exec.Command("go", args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, &stderr)
	}
	return strings.TrimSpace(string(out)), nil
}
