// What the kinds of failures and the exit codes mean.

package cli

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/spec"
)

// Names of what explain lists.
const (
	topicExitCodes = "exit-codes"
	topicFailures  = "error-kinds"
)

// exitCode is an exit code and what it means.
type exitCode struct {
	Code int    `json:"code"`
	Doc  string `json:"doc"`
}

func exitCodes() []exitCode {
	return []exitCode{
		{exitOK, "The run completed, clean or degraded (with --strict: clean only); validate found no error; the command did what it should."},
		{exitFailed, "The run failed, or was degraded under --strict; tests failed; a replay diverged; or graphrun itself could not continue."},
		{exitUsage, "Wrong usage: an unknown flag, a bad input or answer, no such file or run, a run that another process drives."},
		{exitInvalid, "The file is not valid: nothing ran. With validate --strict, also warnings."},
		{exitStuck, "No edge of the last node fired; graphrun why RUN shows every candidate."},
		{exitLimit, "A limit was hit: steps, visits, time, tokens, cost, size; also on_max_steps: flag."},
		{exitPaused, "The run is paused: for an answer, at a breakpoint, or until a time; graphrun answer or resume continues it."},
		{exitCancelled, "The run was cancelled, by an interrupt or by runs cancel; graphrun resume continues it."},
	}
}

// endTopicNames are the names of failure kinds and exit codes that explain takes.
func endTopicNames() []string {
	return append([]string{topicExitCodes, topicFailures}, spec.FailureKinds()...)
}

// explainEnd explains an exit code (5, exit-5), all of them (exit-codes), a kind of
// failure or all of those (error-kinds); false: the name is of none.
func (a *app) explainEnd(name, format string) (bool, error) {
	name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
	plural := strings.TrimSuffix(name, "s") + "s"
	code, err := strconv.Atoi(strings.TrimPrefix(name, "exit-"))
	codes := slices.DeleteFunc(exitCodes(), func(e exitCode) bool { return err == nil && e.Code != code })
	if plural == topicExitCodes || err == nil && len(codes) > 0 {
		if format == "json" {
			return true, printJSON(a.Stdout, codes)
		}
		var b strings.Builder
		for _, c := range codes {
			writeWrapped(&b, 0, 5, fmt.Sprintf("%-5d%s", c.Code, c.Doc))
		}
		_, err := io.WriteString(a.Stdout, b.String())
		return true, err
	}
	kinds := failuresNamed(name)
	if plural == topicFailures || plural == "errors" {
		kinds = spec.Failures()
	}
	if len(kinds) == 0 {
		return false, nil
	}
	if format == "json" {
		return true, printJSON(a.Stdout, kinds)
	}
	var b strings.Builder
	writeFailures(&b, kinds)
	_, err = io.WriteString(a.Stdout, b.String())
	return true, err
}

func failuresNamed(name string) []spec.FailureKind {
	return slices.DeleteFunc(spec.Failures(), func(f spec.FailureKind) bool {
		return strings.ReplaceAll(f.Name, "_", "-") != strings.ReplaceAll(name, "_", "-")
	})
}

func writeFailures(b *strings.Builder, kinds []spec.FailureKind) {
	for i, f := range kinds {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(b, "error kind %s\n", f.Name)
		writeWrapped(b, 2, 2, f.Doc)
		writeWrapped(b, 2, 2, f.Help)
	}
}
