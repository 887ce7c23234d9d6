// The why command: the edges that a step could have taken.

package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
)

func newWhyCommand(a *app) *cobra.Command {
	output := newEnum("text", "json", "text")
	cmd := &cobra.Command{
		Use:   "why RUN [STEP]",
		Short: "Say why a run went where it went",
		Long: `why lists, for a step of a run or for every step, all edges that the step could have
taken, in the order of the file: which fired, and why the others did not, with the
values that conditions read. For a run that is stuck the last step has no edge that
fired. It works while the run goes on, too.`,
		Example:           "  graphrun why nightly\n  graphrun why nightly 4 -o json",
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: a.completeRun,
		PreRunE:           a.loadSettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || len(args) > 2 {
				return usagef("%q takes the id of a run and perhaps a step, got %d arguments", cmd.CommandPath(), len(args))
			}
			step := 0
			if len(args) == 2 {
				n, err := strconv.Atoi(args[1])
				if err != nil || n < 1 {
					return usagef("step %q: must be a number from 1", args[1])
				}
				step = n
			}
			return a.why(args[0], step, output.value)
		},
	}
	enumFlag(cmd, cmd.Flags(), &output, "output", "o", "form of the output")
	return cmd
}

// decision is a step and the edges it could have taken. Edge is the index in
// the graph; -1: a label of ends.
type decision struct {
	Step       int             `json:"step"`
	Node       string          `json:"node"`
	Visit      int             `json:"visit"`
	Outcome    string          `json:"outcome"`
	Next       []string        `json:"next"`
	Candidates []candidateEdge `json:"candidates"`
}

type candidateEdge struct {
	Edge      int    `json:"edge"`
	ID        string `json:"id,omitempty"`
	To        string `json:"to"`
	Condition string `json:"condition"`
	When      string `json:"when,omitempty"`
	Fired     bool   `json:"fired"`
	Why       string `json:"why"`
}

// decisions collects the decisions of a replay.
type decisions struct {
	only   int // the step wanted; 0: all
	list   []decision
	failed map[string]bool // nodes whose last execution failed
}

// Event keeps decisions.
func (d *decisions) Event(e *runner.Event) error {
	switch e.Type {
	case runner.NodeFailed:
		d.failed[e.Node] = true
	case runner.NodeCompleted:
		delete(d.failed, e.Node)
	case runner.EdgesResolved:
		if d.only == 0 || e.Step == d.only {
			d.list = append(d.list, d.decision(e))
		}
	}
	return nil
}

func (d *decisions) decision(e *runner.Event) decision {
	out := decision{Step: e.Step, Node: e.Node, Visit: e.Visit, Outcome: "success", Next: slices.Clone(e.Next), Candidates: candidateEdges(e.Candidates)}
	if d.failed[e.Node] {
		out.Outcome = "failure"
	}
	if out.Next == nil {
		out.Next = []string{}
	}
	return out
}

func candidateEdges(candidates []machine.Candidate) []candidateEdge {
	out := make([]candidateEdge, len(candidates))
	for i, c := range candidates {
		out[i] = candidateEdge{Edge: c.Edge, ID: c.ID, To: c.To, Condition: c.Condition, When: c.When, Fired: c.Fired, Why: c.Why}
	}
	return out
}

func (a *app) why(id string, step int, form string) error {
	r, err := a.lookAt(id)
	if err != nil {
		return err
	}
	found := &decisions{only: step, failed: map[string]bool{}}
	result, err := r.replay(0, found)
	if err != nil {
		return err
	}
	if step > len(result.Path) {
		return usagef("step %d: run %q has taken %s", step, id, count(len(result.Path), "step"))
	}
	if form == "json" {
		if found.list == nil {
			found.list = []decision{}
		}
		return writeJSON(a.Stdout, found.list, a.StdoutTerminal)
	}
	c := newTraceColors(a.colorOn(a.StdoutTerminal))
	for i := range found.list {
		for _, line := range decisionLines(&found.list[i], c) {
			fmt.Fprintln(a.Stdout, line)
		}
	}
	if len(found.list) == 0 {
		fmt.Fprintln(a.Stderr, "nothing was decided yet: "+headline(result))
	}
	return nil
}

// decisionLines show a decision for a person.
func decisionLines(d *decision, c traceColors) []string {
	name := d.Node
	if d.Visit > 1 {
		name = fmt.Sprintf("%s #%d", name, d.Visit)
	}
	outcome := ""
	if d.Outcome == "failure" {
		outcome = c.bad("  failed")
	}
	next := "nowhere"
	if len(d.Next) > 0 {
		next = strings.Join(d.Next, ", ")
	}
	out := []string{c.quiet(fmt.Sprintf("[%d]", d.Step)) + " " + c.strong(name) + outcome + " → " + next}
	width := 0
	for i := range d.Candidates {
		width = max(width, terminal.Width(d.Candidates[i].To))
	}
	for i := range d.Candidates {
		e := &d.Candidates[i]
		mark := c.quiet("-")
		if e.Fired {
			mark = c.good("✓")
		}
		out = append(out, fmt.Sprintf("  %s %s  %s  %s", mark, terminal.Pad(e.To, width),
			c.quiet(terminal.Pad(e.Condition, len("conditional"))), terminal.Line(e.Why)))
	}
	return out
}
