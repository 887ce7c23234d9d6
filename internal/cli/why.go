// The why command: the edges that a step could have taken.

package cli

import (
	"bufio"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

func newWhyCommand(a *app) *cobra.Command {
	output := newEnum("text", "json", "text")
	cmd := &cobra.Command{
		Use:   "why RUN [STEP]",
		Short: "Say why a run went where it went",
		Long: `why lists, for a step of a run or for every step, all edges that the step could have
taken, in the order of the file: which fired, and why the others did not. Conditions
are shown with the values that they read, each part of and, or and not by itself:
  confidence >= 0.8 → 0.62 >= 0.8 → false
A part is not evaluated when an earlier one had decided. For a run that is stuck the
last step has no edge that fired. It works while the run goes on, too. Without a step
those of subgraphs are among them, numbered by themselves: outer/inner, and outer[2]/inner
for the third element of an each.`,
		Example:           "  graphrun why nightly\n  graphrun why nightly 4 -o json",
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: a.completeRunStep,
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
	Step int    `json:"step"`
	Node string `json:"node"`
	// Place is Node with the elements that it is inside, as in s[1]/write; absent
	// where it is inside none. Shown are the names of Next with them.
	Place   string `json:"place,omitempty"`
	shown   []string
	Visit   int    `json:"visit"`
	Outcome string `json:"outcome"`
	// Error is why the step failed.
	Error      *machine.Failure `json:"error,omitempty"`
	Next       []string         `json:"next"`
	Candidates []candidateEdge  `json:"candidates"`
	// Dropped are the joins that its failure kept from going on.
	Dropped []droppedJoin `json:"dropped,omitempty"`
}

// droppedJoin is a join whose waiting branches ended.
type droppedJoin struct {
	Join string `json:"join"`
	Why  string `json:"why"`
}

type candidateEdge struct {
	Edge      int    `json:"edge"`
	ID        string `json:"id,omitempty"`
	To        string `json:"to"`
	Condition string `json:"condition"`
	When      string `json:"when,omitempty"`
	Fired     bool   `json:"fired"`
	Why       string `json:"why"`
	// Test is the condition part by part; absent when it was not evaluated.
	Test *conditionPart `json:"test,omitempty"`
	test *eval.Reason
}

// conditionPart is a condition, or a part of it that and, or and not join.
// Result is null when it was not evaluated, because an earlier part decided, or
// when it failed.
type conditionPart struct {
	Source    string          `json:"source"`
	Values    string          `json:"values,omitempty"`
	Result    any             `json:"result"`
	Evaluated bool            `json:"evaluated"`
	Op        string          `json:"op,omitempty"`
	Parts     []conditionPart `json:"parts,omitempty"`
}

func newConditionPart(r *eval.Reason) conditionPart {
	out := conditionPart{Source: r.Source, Values: r.Values, Result: r.Result, Evaluated: r.Evaluated, Op: r.Op}
	for i := range r.Parts {
		out.Parts = append(out.Parts, newConditionPart(&r.Parts[i]))
	}
	return out
}

// decisions collects the decisions of a replay.
type decisions struct {
	only int // the step wanted; 0: all
	// joins says that the graph has some: only then what comes after a step that
	// failed has a part in what became of it.
	joins bool
	// say gets the decisions in order: at once, or from list at the end where a join
	// may have its part in them.
	say    func(*decision) error
	said   int
	list   []decision
	failed map[string]*machine.Failure // of nodes whose last execution failed
}

// Event keeps decisions.
func (d *decisions) Event(e *runner.Event) error {
	switch e.Type {
	case runner.NodeFailed:
		d.failed[placed(e).Node] = e.Error
	case runner.NodeCompleted:
		delete(d.failed, placed(e).Node)
	case runner.NodeEvent:
		if e.Said != nil && e.Said.Type == "dropped" {
			d.dropped(e)
		}
	case runner.EdgesResolved:
		// The steps of a subgraph have numbers of their own.
		if d.only == 0 || e.Step == d.only && !strings.Contains(e.Node, "/") {
			made := d.decision(e)
			d.said++
			if d.joins && (d.only == 0 || made.Outcome == "failure") {
				d.list = append(d.list, made)
				return nil
			}
			if err := d.say(&made); err != nil || d.only == 0 {
				return err
			}
			return runner.ErrEnough
		}
	}
	return nil
}

// sayRest says what was kept back.
func (d *decisions) sayRest() error {
	for i := range d.list {
		if err := d.say(&d.list[i]); err != nil {
			return err
		}
	}
	return nil
}

// hasJoins reports whether branches of a graph may wait for each other.
func hasJoins(g *spec.Graph) bool {
	return g.Parallel.Join == "auto" || slices.ContainsFunc(g.Nodes, func(n *spec.Node) bool { return n.Join != nil })
}

// dropped notes at the last failure of each node that bypassed a join what the join
// did.
func (d *decisions) dropped(e *runner.Event) {
	data, _ := e.Said.Data.(map[string]any)
	failed, _ := data["failed"].([]any)
	join := placed(e).Node
	inside := join[:strings.LastIndex(join, "/")+1] // of a subgraph
	for _, name := range failed {
		for i, made := range slices.Backward(d.list) {
			if made.place() == inside+name.(string) && made.Outcome == "failure" {
				d.list[i].Dropped = append(d.list[i].Dropped, droppedJoin{join, e.Said.Message})
				break
			}
		}
	}
}

func (d *decisions) decision(e *runner.Event) decision {
	at := placed(e)
	out := decision{
		Step: e.Step, Node: e.Node, Place: e.Place, Visit: e.Visit, Outcome: "success", Next: slices.Clone(e.Next), shown: slices.Clone(at.Next),
		Candidates: candidateEdges(e.Candidates),
	}
	if failure := d.failed[at.Node]; failure != nil {
		out.Outcome, out.Error = "failure", failure
	}
	if out.Next == nil {
		out.Next = []string{}
	}
	return out
}

// place is where the step was taken.
func (d *decision) place() string {
	if d.Place != "" {
		return d.Place
	}
	return d.Node
}

func candidateEdges(candidates []machine.Candidate) []candidateEdge {
	out := make([]candidateEdge, len(candidates))
	for i, c := range candidates {
		out[i] = candidateEdge{Edge: c.Edge, ID: c.ID, To: c.To, Condition: c.Condition, When: c.When, Fired: c.Fired, Why: c.Why}
		if c.Test != nil {
			test := newConditionPart(c.Test)
			out[i].Test, out[i].test = &test, c.Test
		}
	}
	return out
}

func (a *app) why(id string, step int, form string) error {
	r, err := a.lookAt(id)
	if err != nil {
		return err
	}
	id = r.record.ID
	out := bufio.NewWriter(a.Stdout)
	array := &jsonArray{w: out, indent: a.StdoutTerminal}
	c := newTraceColors(a.colorOn(a.StdoutTerminal))
	found := &decisions{only: step, joins: hasJoins(recordedGraph(&r.record)), failed: map[string]*machine.Failure{}}
	found.say = func(d *decision) error {
		if form == "json" {
			return array.add(d)
		}
		_, err := fmt.Fprintln(out, strings.Join(decisionLines(d, c), "\n"))
		return err
	}
	result, err := r.runner.ReplayFrom(id, step, runner.Options{Sink: found})
	if err != nil && !errors.Is(err, runner.ErrEnough) {
		return errors.Join(r.unreadable(err), out.Flush())
	}
	if found.said == 0 && step > len(result.Path) {
		return usagef("step %d: run %q has taken %s", step, id, count(len(result.Path), "step"))
	}
	if err := found.sayRest(); err != nil {
		return err
	}
	if form == "json" {
		return errors.Join(array.close(), out.Flush())
	}
	if step == 0 {
		for _, line := range finallyLines(result, c) {
			fmt.Fprintln(out, line)
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if found.said == 0 {
		fmt.Fprintln(a.Stderr, "nothing was decided yet: "+headline(result))
	}
	return nil
}

// decisionLines show a decision for a person.
func decisionLines(d *decision, c traceColors) []string {
	name := d.place()
	if d.Visit > 1 {
		name = fmt.Sprintf("%s #%d", name, d.Visit)
	}
	outcome := ""
	if d.Outcome == "failure" {
		outcome = c.bad("  failed")
	}
	next := "nowhere"
	if len(d.shown) > 0 {
		next = strings.Join(d.shown, ", ")
	}
	out := []string{c.quiet(fmt.Sprintf("[%d]", d.Step)) + " " + c.strong(name) + outcome + " → " + next}
	if d.Error != nil {
		out = append(out, "  "+c.bad(terminal.Truncate(failureText(d.Error), 2*maxReason)))
		out = append(out, saidLast(d.Error, c)...)
	}
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
		why, parts := e.Why, []string(nil)
		if e.test != nil {
			why, parts = reasonLines(e.test)
		}
		out = append(out, fmt.Sprintf("  %s %s  %s  %s", mark, terminal.Pad(e.To, width),
			c.quiet(terminal.Pad(e.Condition, len("conditional"))), terminal.Line(why)))
		for _, part := range parts {
			out = append(out, strings.Repeat(" ", 8+width+len("conditional"))+terminal.Line(part))
		}
	}
	for _, join := range d.Dropped {
		out = append(out, "  "+c.warn("dropped ")+join.Join+": "+terminal.Line(join.Why))
	}
	return out
}

// reasonLines tell a condition for a person: the whole, and a line for each of
// its parts, indented by how deep they are.
func reasonLines(r *eval.Reason) (whole string, parts []string) {
	if len(r.Parts) == 0 || !r.Evaluated {
		return r.String(), nil
	}
	for i := range r.Parts {
		part, inner := reasonLines(&r.Parts[i])
		parts = append(parts, "  "+part)
		for _, line := range inner {
			parts = append(parts, "  "+line)
		}
	}
	return r.Source + " → " + eval.ResultText(r.Result), parts
}
