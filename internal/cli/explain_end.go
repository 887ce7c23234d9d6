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
	names := append([]string{topicExitCodes, topicFailures}, spec.FailureKinds()...)
	for _, s := range standings() {
		names = append(names, s.Name)
	}
	return names
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
		return a.explainStanding(name, format)
	}
	if format == "json" {
		return true, printJSON(a.Stdout, kinds)
	}
	var b strings.Builder
	writeFailures(&b, kinds)
	_, err = io.WriteString(a.Stdout, b.String())
	return true, err
}

// standing is a status, a quality or a reason of a run, and what it means.
type standing struct {
	Name string `json:"name"`
	Doc  string `json:"doc"`
}

func standings() []standing {
	return []standing{
		{"completed", "Status: a branch reached END and none is left. Exit code 0."},
		{"failed", "Status: a node failed and no edge took the failure, or a policy was violated. Exit code 1. graphrun why RUN tells more, graphrun resume RUN tries again."},
		{"stuck", "Status: no edge of a node fired although it has some. Exit code 4. graphrun why RUN shows every candidate with the values that it read; add a fallback edge."},
		{"limit", "Status: a limit ended the run. Exit code 5; the reason says which. graphrun resume RUN goes on with the limit anew."},
		{"paused", "Status: the run waits for a person, a breakpoint or a moment. Exit code 10. graphrun runs pending lists the questions."},
		{"cancelled", "Status: somebody cancelled the run. Exit code 130. graphrun resume RUN goes on."},
		{"running", "Status: a process drives the run."},
		{"crashed", "Status: the process that drove the run vanished. graphrun resume RUN goes on."},
		{"unreadable", "Status: the journal of the run can't be read; graphrun runs show RUN says why."},
		{"clean", "Quality: every node succeeded, after retries perhaps."},
		{"degraded", "Quality: the run completed through a failure edge, a dropped branch, a fallback decision, or return_last."},
		{"max_steps", "Reason of limit: limits.max_steps node executions were taken."},
		{"no_edge", "Reason of stuck: no edge of the last node fired."},
		{"node_failed", "Reason of failed: a node failed and no edge took the failure."},
		{"human", "Reason of paused: only people can let the run go on; graphrun answer RUN NODE=VALUE."},
		{"wait", "Reason of paused: only time has to pass; graphrun resume --due goes on then."},
		{"pause", "Reason of paused: a breakpoint, or graphrun runs pause; graphrun resume RUN goes on."},
		{"concurrency", "Reason of paused: the run waits for others of its group."},
		{"size", "Reason of limit: the state takes more than limits.max_state_bytes."},
	}
}

// explainStanding explains a status, a quality or a reason; false: there is none of that
// name.
func (a *app) explainStanding(name, format string) (bool, error) {
	for _, s := range standings() {
		if strings.ReplaceAll(s.Name, "_", "-") != name {
			continue
		}
		if format == "json" {
			return true, printJSON(a.Stdout, s)
		}
		var b strings.Builder
		writeWrapped(&b, 0, 2, s.Name+"  "+s.Doc)
		_, err := io.WriteString(a.Stdout, b.String())
		return true, err
	}
	return false, nil
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
