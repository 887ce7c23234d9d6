// The version command.

package cli

import (
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// buildVersion describes the build. Unknown parts are "".
type buildVersion struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`
	Time     string `json:"time"`
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// release is "version,commit,time" of a release. The linker sets it.
var release string

func readBuildVersion() buildVersion {
	v := buildVersion{Version: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.time":
			v.Time = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	if parts := strings.Split(release, ","); len(parts) == 3 {
		v.Version, v.Commit, v.Time, v.Modified = parts[0], parts[1], parts[2], false
	}
	return v
}

// String returns the version in one line.
func (v buildVersion) String() string {
	s := "graphrun " + v.Version
	if v.Commit != "" {
		s += " (commit " + v.Commit[:min(12, len(v.Commit))]
		if day, _, dated := strings.Cut(v.Time, "T"); dated {
			s += " of " + day
		}
		if v.Modified {
			s += ", modified"
		}
		s += ")"
	}
	return s + " " + v.Go + " " + v.Platform
}

func newVersionCommand(a *app) *cobra.Command {
	return withOutput(&cobra.Command{
		Use:   "version",
		Short: "Print the version of graphrun",
		Long: `version prints the version, the commit that it was built from, and the Go version and
platform.`,
		Example: "  graphrun version\n  graphrun version -o json",
		PreRunE: noSettings,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := readBuildVersion()
			return a.printLine(cmd, v, v.String())
		},
	})
}
