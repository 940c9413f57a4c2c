package main

import (
	"cmp"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersion(p process) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use: "version", Short: "Print the version of this program", Args: noArgs, GroupID: groupProgram, Example: "  postrider version -o json",
		RunE: func(*cobra.Command, []string) error {
			v := build{version(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
			print := printer{p.out, format}
			return print.result(v, func() error { return print.fields("postrider", v.Version, "built with", v.Go, "for", v.Platform) })
		},
	}
	bindOutput(c, &format, outputTable, outputJSON, outputYAML)
	return c
}

// build is what is known of this program.
type build struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// version is what the Go toolchain knows of the source: a tag, or a commit with its time.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return cmp.Or(settings["vcs.revision"], "devel")
}
