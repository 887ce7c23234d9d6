// Package longtest scales the searches of tests: over random graphs, random edits, and the points at
// which a run can be cut. They are short in `make test` and long in `.ci/run`.
package longtest

import (
	"os"
	"runtime/debug"
)

// Choose returns long if GRAPHRUN_TESTS is "long", and short otherwise.
func Choose(short, long int) int {
	if os.Getenv("GRAPHRUN_TESTS") == "long" {
		return long
	}
	return short
}

// BuildFlags returns the flags with which the go command finds the packages of this test in its cache.
func BuildFlags() []string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	var flags []string
	for _, s := range info.Settings {
		if s.Key == "-race" || s.Key == "-gcflags" {
			flags = append(flags, s.Key+"="+s.Value)
		}
	}
	return flags
}
