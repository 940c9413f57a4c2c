package main

import (
	"cmp"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersion(p process) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version of this program", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			return printer{w: p.out}.fields("postrider", version(), "built with", runtime.Version(), "for", runtime.GOOS+"/"+runtime.GOARCH)
		},
	}
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
