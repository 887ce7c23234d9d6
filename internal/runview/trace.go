// The trace of a run: a line per step with outcome, duration and the edge that fired.

package runview

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fatih/color"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/report"
	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/view"
	"github.com/graphrun/graphrun/spec"
)

// Colors paint the parts of a trace.
type Colors struct {
	Strong, Quiet, Good, Bad, Warn, Info func(a ...any) string
}

// NewColors returns colours, or functions that change nothing if on is false.
func NewColors(on bool) Colors {
	paint := func(a color.Attribute) func(a ...any) string { return report.Painter(on, a) }
	return Colors{
		Strong: paint(color.Bold), Quiet: paint(color.FgHiBlack), Good: paint(color.FgGreen),
		Bad: paint(color.FgRed), Warn: paint(color.FgYellow), Info: paint(color.FgCyan),
	}
}

const (
	maxReason = 72
	maxNext   = 12
	// maxOutputLines bounds the lines of output shown of a failed program.
	maxOutputLines = 12
)

// Tracer turns events into lines. It is not safe for concurrent use.
type Tracer struct {
	colors  Colors
	columns columns
	// held are finished steps whose routing is still unknown.
	held []finished
	// unsaid are failed steps without a next node. The end of the run prints their output.
	unsaid []finished
	// elements counts the finished elements of running nodes with each.
	elements map[string]*elements
	// spent sums the usage of model calls by node until a line shows it.
	spent map[string]*spending
}

// finished is the end of a node execution.
type finished struct {
	step, visit int
	node, word  string
	duration    time.Duration
	failure     *machine.Failure
	finally     bool
	elements    *elements // nil without each
}

// NewTracer returns a Tracer for runs of a graph.
func NewTracer(g *spec.Graph, colors Colors) *Tracer {
	return &Tracer{colors: colors, columns: columnsOf(g), elements: map[string]*elements{}}
}

// Lines returns the lines that an event adds to the trace, often none.
func (t *Tracer) Lines(e *runner.Event) []string {
	switch e.Type {
	case runner.RunStarted:
		t.columns.addSteps(e.MaxSteps)
		return []string{t.colors.Quiet(fmt.Sprintf("run %s of %s from %s, at most %d steps", e.RunID, e.Graph, e.Start, e.MaxSteps))}
	case runner.RunWaiting:
		text := "waiting: " + e.Waiting.String()
		if e.Waiting.Cancelling != "" {
			text += "; asked " + e.Waiting.Cancelling + " to cancel"
		}
		return []string{t.colors.Warn(terminal.Line(text))}
	case runner.RunResumed:
		return append(t.Flush(), t.colors.Quiet(fmt.Sprintf("run %s resumes", e.RunID)))
	case runner.NodeRetrying:
		text := fmt.Sprintf("attempt %d of %d failed, next in %s", e.Attempt, e.MaxAttempts, Clock(e.NextDelay))
		if e.AskedDelay > 0 {
			text += fmt.Sprintf(" (shortened from the requested %s)", Clock(e.AskedDelay))
		}
		if e.Error != nil {
			text += ": " + FailureText(e.Error)
		}
		return []string{t.start(e) + t.colors.Warn("retry   ") + terminal.Line(text)}
	case runner.NodeCompleted, runner.NodeFailed:
		return t.recordEnd(e)
	case runner.EdgesResolved:
		return t.resolveRoute(e)
	case runner.LLMUsage:
		t.addUsage(e)
	case runner.NodeEvent, runner.ToolCalled:
		return t.reportLine(e)
	case runner.RunFinished, runner.RunPaused:
		return append(t.Flush(), t.pendingOutput(e.Result)...)
	}
	return nil
}

// recordEnd records the end of a node. Its line waits for the routing, which follows at once or
// when a model has decided.
func (t *Tracer) recordEnd(e *runner.Event) []string {
	f := finished{
		step: e.Step, node: e.Node, visit: e.Visit, duration: e.Duration, failure: e.Error, word: "ok",
		elements: t.elements[e.Node], finally: e.Finally,
	}
	delete(t.elements, e.Node)
	switch {
	case e.Type == runner.NodeFailed && e.Step == 0 && e.Error.Kind == "cancelled":
		f.word = "stopped"
	case e.Type == runner.NodeFailed:
		f.word = "failed"
	case e.Skipped:
		f.word = "skipped"
	case e.Cached:
		f.word = "cached"
	}
	if f.finally || f.word == "stopped" {
		return t.endLines(f, "") // has no routing
	}
	t.held = append(t.held, f)
	return nil
}

// resolveRoute returns the line of a step whose next nodes are known.
func (t *Tracer) resolveRoute(e *runner.Event) []string {
	route := t.route(e)
	for i, f := range t.held {
		if f.step == e.Step && f.node == e.Node {
			t.held = slices.Delete(t.held, i, i+1)
			return t.endLines(f, route)
		}
	}
	if route == "" {
		return nil
	}
	return []string{t.start(e) + t.columns.blank() + route + t.popUsage(e.Node)}
}

// Flush returns the lines of steps without routing.
func (t *Tracer) Flush() []string {
	var out []string
	for _, f := range t.held {
		out = append(out, t.endLines(f, "")...)
	}
	t.held = nil
	return out
}

// reportLine returns the line of an event that a running node reported.
func (t *Tracer) reportLine(e *runner.Event) []string {
	if e.Said == nil {
		return nil
	}
	switch e.Said.Type {
	case "element":
		t.elements[e.Node] = parseElements(e.Said)
	case "custom":
		switch e.Said.Name {
		case "judged":
			return []string{t.start(e) + t.judged(e.Said)}
		case "agent_ended": // the line of the node shows it
			return nil
		}
		return []string{t.start(e) + t.colors.Info("event   ") + terminal.Line(e.Said.Name) + " " + ValueText(e.Said.Data, maxReason)}
	case "tool":
		return []string{t.start(e) + t.called(e.Said)}
	case "dropped":
		return []string{t.start(e) + t.colors.Warn("dropped ") + terminal.Line(e.Said.Message)}
	case "warning":
		return []string{t.start(e) + t.colors.Warn("warning ") + terminal.Line(e.Said.Message)}
	}
	return nil
}

// judged formats the verdict and the feedback of a judge.
func (t *Tracer) judged(s *runner.Said) string {
	data, _ := s.Data.(map[string]any)
	word, _ := data["verdict"].(string)
	feedback, _ := data["feedback"].(string)
	if feedback != "" {
		word += ": " + terminal.Truncate(terminal.Line(feedback), 2*maxReason)
	}
	return t.colors.Info("judge   ") + word
}

// called formats a tool call with its arguments and its result.
func (t *Tracer) called(s *runner.Said) string {
	data, _ := s.Data.(map[string]any)
	text := t.colors.Info("tool    ") + terminal.Line(s.Name) + " " + ValueText(data["args"], maxReason/2)
	result := ValueText(data["output"], maxReason)
	if data["is_error"] == true {
		return text + " → " + t.colors.Bad("error: "+result)
	}
	return text + " → " + result
}

func (t *Tracer) line(f finished, route string) string {
	paint := t.colors.Good
	switch f.word {
	case "failed":
		paint = t.colors.Bad
	case "skipped", "stopped":
		paint = t.colors.Warn
	}
	s := t.columns.start(t.colors, f.step, f.node, f.visit) + paint(terminal.Pad(f.word, 8)) + t.colors.Quiet(fmt.Sprintf("%7s", Clock(f.duration)))
	if f.finally {
		route = t.colors.Quiet("finally")
	}
	if route != "" {
		s += "  " + route
	}
	if f.elements != nil {
		s += "  " + f.elements.String()
	}
	if f.failure != nil {
		s += "  " + t.colors.Bad(terminal.Truncate(FailureText(f.failure), 2*maxReason))
	}
	return s + t.popUsage(f.node)
}

// start returns the start of an event's line. Running nodes have no number yet.
func (t *Tracer) start(e *runner.Event) string {
	return t.columns.start(t.colors, e.Step, e.Node, e.Visit)
}

// route formats the next nodes of a step and the reasons.
func (t *Tracer) route(e *runner.Event) string {
	if len(e.Next) == 0 {
		return ""
	}
	next := e.Next
	if len(next) > maxNext {
		next = append(slices.Clone(next[:maxNext-1]), fmt.Sprintf("and %d more", len(next)-maxNext+1))
	}
	s := "→ " + strings.Join(next, ", ")
	if why := reasons(e.Candidates); why != "" {
		s += t.colors.Quiet("  (" + terminal.Truncate(terminal.Line(why), maxReason) + ")")
	}
	return s
}

// reasons lists labels and conditions of the edges that fired.
func reasons(candidates []machine.Candidate) string {
	var out []string
	conditions := slices.ContainsFunc(candidates, func(c machine.Candidate) bool {
		return c.Condition == "conditional" && !c.Fired
	})
	for _, c := range candidates {
		if !c.Fired {
			continue
		}
		var why []string
		when := strings.Join(strings.Fields(c.When), " ")
		switch c.Condition {
		case "conditional":
			why = []string{when}
		case "on_failure":
			why = []string{"on failure", when}
		case "llm_decide":
			why = []string{c.Why}
		default:
			if conditions {
				why = []string{"else"}
			}
		}
		isEmpty := func(s string) bool { return s == "" }
		why = []string{c.Label, strings.Join(slices.DeleteFunc(why, isEmpty), ", ")}
		if text := strings.Join(slices.DeleteFunc(why, isEmpty), ": "); text != "" && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return strings.Join(out, "; ")
}

// FailureText formats a failure in one line. It omits the kind "failed".
func FailureText(f *machine.Failure) string {
	if f.Kind == "failed" && f.Message != "" {
		return terminal.Line(f.Message)
	}
	return terminal.Line(f.Kind + ": " + f.Message)
}

// ValueText formats a value as JSON in one line of at most n columns.
func ValueText(v any, n int) string {
	text, err := eval.AppendJSON(nil, v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return terminal.Truncate(terminal.Line(string(text)), n)
}

// Clock formats a duration: 12ms, 3.2s, 2m03s, 10m, 1h05m.
func Clock(d time.Duration) string {
	d = max(0, d) // the machine's clock may have been set back
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Truncate(100*time.Millisecond).Seconds())
	case d < time.Hour:
		return strings.TrimSuffix(fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60), "00s")
	}
	return strings.TrimSuffix(fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60), "00m")
}

// endLines returns the line of a node's end and the last output of a failed program. If no
// node follows, the end of the run prints that output.
func (t *Tracer) endLines(f finished, route string) []string {
	out := []string{t.line(f, route)}
	switch said := SaidLast(f.failure, t.colors); {
	case len(said) == 0:
	case route == "" && !f.finally:
		t.unsaid = append(t.unsaid, f)
	default:
		out = append(out, said...)
	}
	return out
}

// pendingOutput returns the output of failed programs without a next node, except the one
// whose failure ended the run.
func (t *Tracer) pendingOutput(r *runner.Result) []string {
	var out []string
	for _, f := range t.unsaid {
		if r != nil && r.Error != nil && r.Error.Node == f.node {
			continue
		}
		out = append(out, t.columns.start(t.colors, f.step, f.node, f.visit)+t.colors.Bad("said last"))
		out = append(out, SaidLast(f.failure, t.colors)...)
	}
	t.unsaid = nil
	return out
}

// SaidLast returns the last lines that a failed program wrote, unless the message of the
// failure contains them.
func SaidLast(f *machine.Failure, c Colors) []string {
	if f == nil {
		return nil
	}
	var out []string
	for _, stream := range [...]string{"stdout", "stderr"} {
		text, _ := f.Details[stream].(string)
		text = strings.TrimSpace(text)
		if text == "" || strings.HasSuffix(f.Message, text) {
			continue
		}
		out = append(out, lastLines(text, "       "+c.Quiet(stream+" | "))...)
	}
	return out
}

// spending sums the model calls of a node since they were last shown.
type spending struct {
	usage  view.Usage
	models []string
}

// addUsage adds a model call. The node's next line shows the sum.
func (t *Tracer) addUsage(e *runner.Event) {
	if e.Usage == nil {
		return
	}
	if t.spent == nil {
		t.spent = map[string]*spending{}
	}
	s := t.spent[e.Node]
	if s == nil {
		s = &spending{usage: view.Usage{CostUSD: new(float64)}}
		t.spent[e.Node] = s
	}
	s.usage.LLMCalls += e.Usage.Calls
	s.usage.InputTokens += e.Usage.InputTokens
	s.usage.OutputTokens += e.Usage.OutputTokens
	s.usage.CachedTokens += e.Usage.CachedTokens
	s.usage.Estimated = s.usage.Estimated || e.Usage.Estimated
	switch {
	case e.Usage.CostUSD == nil:
		s.usage.CostUSD = nil
	case s.usage.CostUSD != nil:
		*s.usage.CostUSD += *e.Usage.CostUSD
	}
	if !slices.Contains(s.models, e.Usage.Model) {
		s.models = append(s.models, e.Usage.Model)
	}
}

// popUsage returns the summary of a node's model calls for its line, or "".
func (t *Tracer) popUsage(node string) string {
	s := t.spent[node]
	if s == nil {
		return ""
	}
	delete(t.spent, node)
	return "  " + t.colors.Quiet(terminal.Line(strings.Join(s.models, ", "))+" "+UsageText(&s.usage))
}

// UsageText formats usage: "2 calls, 812+390 tokens (600 cached), $0.0011".
func UsageText(u *view.Usage) string {
	about := ""
	if u.Estimated {
		about = "about "
	}
	text := fmt.Sprintf("%s, %s%d+%d tokens", terminal.Count(u.LLMCalls, "call"), about, u.InputTokens, u.OutputTokens)
	if u.CachedTokens > 0 {
		text += fmt.Sprintf(" (%d cached)", u.CachedTokens)
	}
	switch {
	case u.CostUSD == nil:
		text += ", price unknown"
	case *u.CostUSD > 0:
		text += fmt.Sprintf(", $%.4f", *u.CostUSD)
	}
	return text
}

// elements counts the elements of a node that have ended.
type elements struct {
	done, failed, total int
	last                string // the last element that ended
}

const maxItem = 40 // most columns of an element

// parseElements reads the counts that a node emits when one of its elements has ended.
func parseElements(s *runner.Said) *elements {
	data, _ := s.Data.(map[string]any)
	number := func(key string) int {
		n, _ := data[key].(int)
		return n
	}
	e := &elements{done: number("done"), failed: number("failed"), total: number("total")}
	e.last = ValueText(data["item"], maxItem)
	if data["outcome"] == "failure" {
		e.last += " failed"
	}
	return e
}

// String returns the counts as text: "4 elements, 1 failed".
func (e *elements) String() string {
	s := terminal.Count(e.total, "element")
	if e.done < e.total {
		s = fmt.Sprintf("%d of %s", e.done, s)
	}
	if e.failed > 0 {
		s += fmt.Sprintf(", %d failed", e.failed)
	}
	return s
}

// progress formats the counts of a running node: `3 of 4, 1 failed; last "c" failed`.
func (e *elements) progress() string {
	s := fmt.Sprintf("%d of %d", e.done, e.total)
	if e.failed > 0 {
		s += fmt.Sprintf(", %d failed", e.failed)
	}
	return s + "; last " + e.last
}
