package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func deployed(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, "deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestExampleConfigurationIsAccepted(t *testing.T) {
	t.Parallel()
	c, err := load(t, deployed(t, "postrider.yaml"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.listenAddress(); err != nil {
		t.Error(err)
	}
}

// The compose file cannot be run everywhere. Its settings, with those of the image, can be tried.
func TestComposeSettingsAreAccepted(t *testing.T) {
	t.Parallel()
	var compose struct {
		Services map[string]struct {
			Environment map[string]string
		}
	}
	if err := yaml.Unmarshal([]byte(deployed(t, "compose.yaml")), &compose); err != nil {
		t.Fatal(err)
	}
	environ := strings.Fields(strings.Join(regexp.MustCompile(`POSTRIDER_\w+=\S+`).FindAllString(
		regexp.MustCompile(`(?m)^#.*`).ReplaceAllString(deployed(t, "Dockerfile"), ""), -1), " "))
	for name, value := range compose.Services["postrider"].Environment {
		environ = append(environ, name+"="+value)
	}
	c, err := load(t, "", environ)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.listenAddress(); err != nil || c.Listen != "0.0.0.0:8085" || c.RedisURL == "" {
		t.Errorf("%+v: %v", c, err)
	}
}
