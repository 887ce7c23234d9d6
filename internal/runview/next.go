// The commands that may follow a run.

package runview

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/graphrun/graphrun/internal/input"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// SuggestNext returns a line with commands that may follow a run, the likeliest first, each with
// flags. It returns "" while the run is running.
func SuggestNext(r *runner.Result, flags string) string {
	logs, why, resume := "logs "+r.RunID, "why "+r.RunID, "resume "+r.RunID
	commands := []string{logs, why}
	switch r.Status {
	case machine.Running:
		return ""
	case machine.Paused, store.Crashed:
		return "next: " + FormatResume(r, flags)
	case machine.Failed:
		if r.Error != nil && r.Error.Node != "" {
			logs += " " + QuoteForShell(r.Error.Node)
		}
		commands = []string{logs, why, resume}
	case machine.Stuck:
		commands = []string{fmt.Sprintf("%s %d", why, max(len(r.Path), 1)), resume}
	case machine.Limit:
		switch r.Reason {
		case "max_steps":
			resume += fmt.Sprintf(" --max-steps %d", 2*r.MaxSteps)
		case "timeout":
			resume += " --timeout …"
		case "size":
			resume += fmt.Sprintf(" --max-state-bytes %d", 2*r.MaxStateBytes)
		}
		commands = []string{why, resume}
	case machine.Cancelled:
		commands = []string{resume, logs}
	}
	for i := range commands {
		commands[i] = "graphrun " + commands[i] + flags
	}
	return "next: " + strings.Join(commands, " · ")
}

// FormatResume returns the command that continues a run, with its open questions to answer.
func FormatResume(r *runner.Result, flags string) string {
	if r.Status != machine.Paused || len(r.Pending) == 0 {
		return "graphrun resume " + r.RunID + flags
	}
	s := "graphrun answer " + r.RunID
	for _, p := range r.Pending {
		answer := "…"
		if choices := input.ChoiceNames(p.Schema); len(choices) > 0 {
			answer = choices[0]
		}
		s += " " + QuoteForShell(p.Target()+"="+answer)
	}
	return s + " --resume" + flags
}

// QuoteForShell quotes a word for a shell if needed.
func QuoteForShell(s string) string {
	special := func(r rune) bool { return store.CheckID("", string(r)) != nil && !strings.ContainsRune("=/,@%+…", r) }
	if s != "" && !strings.ContainsFunc(s, special) {
		return s
	}
	if strings.ContainsFunc(s, unicode.IsControl) { // bash, zsh and ksh read this form
		quoted := strconv.Quote(strings.ReplaceAll(s, "'", `\x27`))
		return "$'" + strings.ReplaceAll(strings.ReplaceAll(quoted[1:len(quoted)-1], `\\x27`, `\x27`), `\"`, `"`) + "'"
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
