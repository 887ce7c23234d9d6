// What one would do next with a run that has ended, in one line.

package cli

import (
	"fmt"
	"strings"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// next is the line at the end of a run that says what one would do next; "" when
// there is nothing, because the run was kept in memory.
func (a *app) next(r *runner.Result) string {
	if a.storePath() == "" && !a.onCluster() {
		if r.Status == machine.Paused {
			return "the run is lost with this process: it was kept in memory"
		}
		return ""
	}
	switch r.Status {
	case machine.Paused, store.Crashed:
		return "next: " + a.resumeHint(r)
	case machine.Running:
		return ""
	}
	var commands []string
	for _, args := range nextCommands(r) {
		commands = append(commands, "graphrun "+args+a.storeHint())
	}
	return "next: " + strings.Join(commands, " · ")
}

// nextCommands are what one would call, what is most likely first.
func nextCommands(r *runner.Result) []string {
	logs, why, resume := "logs "+r.RunID, "why "+r.RunID, "resume "+r.RunID
	switch r.Status {
	case machine.Failed:
		if r.Error != nil && r.Error.Node != "" {
			logs += " " + shellWord(r.Error.Node)
		}
		return []string{logs, why, resume}
	case machine.Stuck:
		return []string{fmt.Sprintf("%s %d", why, max(len(r.Path), 1)), resume}
	case machine.Limit:
		switch r.Reason {
		case "max_steps":
			resume += fmt.Sprintf(" --max-steps %d", 2*r.MaxSteps)
		case "timeout":
			resume += " --timeout …"
		case "size":
			resume += fmt.Sprintf(" --max-state-bytes %d", 2*r.MaxStateBytes)
		}
		return []string{why, resume}
	case machine.Cancelled:
		return []string{resume, logs}
	}
	return []string{logs, why}
}

// resumeHint is the command that goes on with a run: by an answer, where it asks.
func (a *app) resumeHint(r *runner.Result) string {
	s := "graphrun resume " + r.RunID
	if r.Status == machine.Paused && len(r.Pending) > 0 {
		s = "graphrun answer " + r.RunID
		for _, p := range r.Pending {
			answer := "…"
			if choices := choicesOf(p.Schema); len(choices) > 0 {
				answer = choices[0]
			}
			s += " " + shellWord(p.Target()+"="+answer)
		}
		s += " --resume"
	}
	return s + a.storeHint()
}

// storeHint is the flag with which a command finds the run again, if it needs one.
func (a *app) storeHint() string {
	if a.onCluster() {
		return " --engine " + engineTemporal
	}
	if a.store.path == "" {
		return ""
	}
	return " --store " + shellWord(a.store.path)
}
