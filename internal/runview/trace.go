// The trace of a run: a line per step with outcome, duration and the edge that fired, in columns.

package runview

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/graphalg"
	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/view"
	"github.com/graphrun/graphrun/spec"
)

const (
	maxReason = 72
	maxNext   = 12
	maxItem   = 40 // most columns of an element

	maxNodeColumn = 32
	maxDigits     = 4 // digits of steps and visits that columns have room for
	// maxOutputLines bounds the lines of output shown of a failed program.
	maxOutputLines = 12
)

// Tracer turns events into lines. It is not safe for concurrent use.
type Tracer struct {
	colors  terminal.Colors
	columns columns
	// unrouted are finished steps whose routing is still unknown.
	unrouted []nodeEnd
	// unprinted are failed steps without a next node. The end of the run prints their output.
	unprinted []nodeEnd
	// elements counts the finished elements of running nodes with each.
	elements map[string]elements
	// spent sums the usage of model calls by node until a line shows it.
	spent map[string]spending
}

// nodeEnd is the end of a node execution.
type nodeEnd struct {
	runner.Event
	word     string
	elements elements
}

// NewTracer returns a Tracer for runs of a graph.
func NewTracer(g *spec.Graph, colors terminal.Colors) *Tracer {
	return &Tracer{colors: colors, columns: measureColumns(g), elements: map[string]elements{}, spent: map[string]spending{}}
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
		text := fmt.Sprintf("attempt %d of %d failed, next in %s", e.Attempt, e.MaxAttempts, formatDuration(e.NextDelay))
		if e.AskedDelay > 0 {
			text += fmt.Sprintf(" (shortened from the requested %s)", formatDuration(e.AskedDelay))
		}
		if e.Error != nil {
			text += ": " + formatFailure(e.Error)
		}
		return []string{t.formatStart(e) + t.colors.Warn("retry   ") + terminal.Line(text)}
	case runner.NodeCompleted, runner.NodeFailed:
		return t.recordEnd(e)
	case runner.EdgesResolved:
		return t.resolveRoute(e)
	case runner.LLMUsage:
		t.addUsage(e)
	case runner.NodeEvent, runner.ToolCalled:
		return t.formatReport(e)
	case runner.RunFinished, runner.RunPaused:
		return append(t.Flush(), t.formatPendingOutput(e.Result)...)
	}
	return nil
}

// recordEnd records the end of a node. Its line waits for the routing, which follows at once or
// when a model has decided.
func (t *Tracer) recordEnd(e *runner.Event) []string {
	f := nodeEnd{*e, "ok", t.elements[e.Node]}
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
	if f.Finally || f.word == "stopped" {
		return t.formatEndLines(&f, "") // has no routing
	}
	t.unrouted = append(t.unrouted, f)
	return nil
}

// resolveRoute returns the line of a step whose next nodes are known.
func (t *Tracer) resolveRoute(e *runner.Event) []string {
	route := t.formatRoute(e)
	for i, f := range t.unrouted {
		if f.Step == e.Step && f.Node == e.Node {
			t.unrouted = slices.Delete(t.unrouted, i, i+1)
			return t.formatEndLines(&f, route)
		}
	}
	if route == "" {
		return nil
	}
	const outcomeWidth = 17 // columns of outcome, duration and gap
	return []string{t.formatStart(e) + strings.Repeat(" ", outcomeWidth) + route + t.popUsage(e.Node)}
}

// Flush returns the lines of steps without routing.
func (t *Tracer) Flush() []string {
	var out []string
	for i := range t.unrouted {
		out = append(out, t.formatEndLines(&t.unrouted[i], "")...)
	}
	t.unrouted = nil
	return out
}

// formatReport returns the line of an event that a running node reported.
func (t *Tracer) formatReport(e *runner.Event) []string {
	said := e.Said
	if said == nil {
		return nil
	}
	data, _ := said.Data.(map[string]any)
	line := ""
	switch kind := said.Type; {
	case kind == "element":
		t.elements[e.Node] = newElements(data)
	case kind == "custom" && said.Name == "agent_ended": // the line of the node shows it
	case kind == "custom" && said.Name == "judged":
		verdict, _ := data["verdict"].(string)
		feedback, _ := data["feedback"].(string)
		line = t.colors.Info("judge   ") + joinNonEmpty(": ", verdict, terminal.Truncate(terminal.Line(feedback), 2*maxReason))
	case kind == "custom":
		line = t.colors.Info("event   ") + terminal.Line(said.Name) + " " + FormatValue(said.Data, maxReason)
	case kind == "tool":
		result := FormatValue(data["output"], maxReason)
		if data["is_error"] == true {
			result = t.colors.Bad("error: " + result)
		}
		line = t.colors.Info("tool    ") + terminal.Line(said.Name) + " " + FormatValue(data["args"], maxReason/2) + " → " + result
	case kind == "dropped" || kind == "warning":
		line = t.colors.Warn(terminal.Pad(kind, 8)) + terminal.Line(said.Message)
	}
	if line == "" {
		return nil
	}
	return []string{t.formatStart(e) + line}
}

func (t *Tracer) formatEnd(f *nodeEnd, route string) string {
	paint := t.colors.Good
	switch f.word {
	case "failed":
		paint = t.colors.Bad
	case "skipped", "stopped":
		paint = t.colors.Warn
	}
	if f.Finally {
		route = t.colors.Quiet("finally")
	}
	failure := ""
	if f.Error != nil {
		failure = t.colors.Bad(terminal.Truncate(formatFailure(f.Error), 2*maxReason))
	}
	outcome := paint(terminal.Pad(f.word, 8)) + t.colors.Quiet(fmt.Sprintf("%7s", formatDuration(f.Duration)))
	return joinNonEmpty("  ", t.formatStart(&f.Event)+outcome, route, f.elements.counts, failure) + t.popUsage(f.Node)
}

// formatStart returns the start of an event's line: the step number, which running nodes do not have
// yet, and the node.
func (t *Tracer) formatStart(e *runner.Event) string {
	node, number := formatVisit(e.Node, e.Visit), ""
	if e.Step > 0 {
		number = fmt.Sprintf("[%d] ", e.Step)
	}
	c := &t.columns
	c.number = max(c.number, len(number))
	c.node = max(c.node, min(terminal.Width(node), maxNodeColumn))
	return t.colors.Quiet(terminal.Pad(number, c.number)) + t.colors.Strong(terminal.Pad(node, c.node)) + "  "
}

func joinNonEmpty(separator string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), separator)
}

func (t *Tracer) formatRoute(e *runner.Event) string {
	if len(e.Next) == 0 {
		return ""
	}
	next := e.Next
	if len(next) > maxNext {
		next = append(slices.Clone(next[:maxNext-1]), fmt.Sprintf("and %d more", len(next)-maxNext+1))
	}
	s := "→ " + strings.Join(next, ", ")
	if why := explainRoute(e.Candidates); why != "" {
		s += t.colors.Quiet("  (" + terminal.Truncate(terminal.Line(why), maxReason) + ")")
	}
	return s
}

// explainRoute returns the labels and conditions of the edges that fired, as one text.
func explainRoute(candidates []machine.Candidate) string {
	var out []string
	conditions := slices.ContainsFunc(candidates, func(c machine.Candidate) bool {
		return c.Condition == "conditional" && !c.Fired
	})
	for _, c := range candidates {
		if !c.Fired {
			continue
		}
		why, when := "", strings.Join(strings.Fields(c.When), " ")
		switch c.Condition {
		case "conditional":
			why = when
		case "on_failure":
			why = joinNonEmpty(", ", "on failure", when)
		case "llm_decide":
			why = c.Why
		default:
			if conditions {
				why = "else"
			}
		}
		if text := joinNonEmpty(": ", c.Label, why); text != "" && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return strings.Join(out, "; ")
}

// formatFailure formats a failure in one line. It omits the kind "failed".
func formatFailure(f *machine.Failure) string {
	if f.Kind == "failed" && f.Message != "" {
		return terminal.Line(f.Message)
	}
	return terminal.Line(f.Kind + ": " + f.Message)
}

// FormatValue formats a value as JSON in one line of at most n columns.
func FormatValue(v any, n int) string {
	text, err := eval.AppendJSON(nil, v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return terminal.Truncate(terminal.Line(string(text)), n)
}

// formatDuration formats a duration: 12ms, 3.2s, 2m03s, 10m, 1h05m.
func formatDuration(d time.Duration) string {
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

// formatEndLines returns the line of a node's end and the last output of a failed program. If no
// node follows, the end of the run prints that output.
func (t *Tracer) formatEndLines(f *nodeEnd, route string) []string {
	said := formatLastOutput(f.Error, t.colors)
	if len(said) > 0 && route == "" && !f.Finally {
		t.unprinted, said = append(t.unprinted, *f), nil
	}
	return append([]string{t.formatEnd(f, route)}, said...)
}

// formatPendingOutput returns the output of failed programs without a next node, except the one
// whose failure ended the run.
func (t *Tracer) formatPendingOutput(r *runner.Result) []string {
	var out []string
	for _, f := range t.unprinted {
		if r == nil || r.Error == nil || r.Error.Node != f.Node {
			out = append(append(out, t.formatStart(&f.Event)+t.colors.Bad("said last")), formatLastOutput(f.Error, t.colors)...)
		}
	}
	t.unprinted = nil
	return out
}

// formatLastOutput returns the last output of a failed program, unless the message contains it.
func formatLastOutput(f *machine.Failure, c terminal.Colors) (out []string) {
	if f == nil {
		return nil
	}
	for _, stream := range [...]string{"stdout", "stderr"} {
		text, _ := f.Details[stream].(string)
		if text = strings.TrimSpace(text); text != "" && !strings.HasSuffix(f.Message, text) {
			out = append(out, formatLastLines(text, "       "+c.Quiet(stream+" | "))...)
		}
	}
	return out
}

// spending sums the model calls of a node since they were last shown.
type spending struct {
	sum    machine.Usage
	models []string
}

// addUsage adds a model call. The node's next line shows the sum.
func (t *Tracer) addUsage(e *runner.Event) {
	if e.Usage == nil {
		return
	}
	s := t.spent[e.Node]
	s.sum.Add(e.Usage)
	if !slices.Contains(s.models, e.Usage.Model) {
		s.models = append(s.models, e.Usage.Model)
	}
	t.spent[e.Node] = s
}

// popUsage returns the summary of a node's model calls for its line, or "".
func (t *Tracer) popUsage(node string) string {
	s, any := t.spent[node]
	if !any {
		return ""
	}
	delete(t.spent, node)
	return "  " + t.colors.Quiet(terminal.Line(strings.Join(s.models, ", "))+" "+formatUsage(view.NewUsage(s.sum)))
}

// formatUsage formats usage: "2 calls, 812+390 tokens (600 cached), $0.0011".
func formatUsage(u view.Usage) string {
	about := ""
	if u.Estimated {
		about = "about "
	}
	text := fmt.Sprintf("%s, %s%d+%d tokens", eval.Count(u.LLMCalls, "call"), about, u.InputTokens, u.OutputTokens)
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

// elements describes the elements of a node that have ended. It is empty without each.
type elements struct {
	counts   string // "3 of 4 elements, 1 failed"
	progress string // `3 of 4, 1 failed; last "c" failed`, for a running node
}

// newElements reads the data of an event, which a node emits when one of its elements has ended.
func newElements(data map[string]any) elements {
	number := func(key string) int {
		n, _ := data[key].(int)
		return n
	}
	done, total, failures, last := number("done"), number("total"), "", FormatValue(data["item"], maxItem)
	if n := number("failed"); n > 0 {
		failures = fmt.Sprintf(", %d failed", n)
	}
	if data["outcome"] == "failure" {
		last += " failed"
	}
	counts := eval.Count(total, "element")
	if done < total {
		counts = fmt.Sprintf("%d of %s", done, counts)
	}
	return elements{counts + failures, fmt.Sprintf("%d of %d%s; last %s", done, total, failures, last)}
}

// columns are the widths of the first two columns. They grow if something does not fit.
type columns struct {
	number, node int
	// unlimited is the longest name of a node on a cycle without max_visits, or 0.
	unlimited int
}

// measureColumns returns the widths for the nodes of a graph and its subgraphs.
func measureColumns(g *spec.Graph) columns {
	var c columns
	cyclic := map[*spec.Graph]map[string]bool{}
	inspect.NewOpener(g, spec.NewLoader(g.File.Name)).Walk(g, func(g *spec.Graph, path []*spec.Node) bool {
		if cyclic[g] == nil {
			cyclic[g] = findCyclicNodes(g)
			c.number = max(c.number, countDigits(g.Limits.MaxSteps)+len("[] "))
		}
		place, n := "", path[len(path)-1]
		for _, around := range path[:len(path)-1] {
			element := ""
			if around.Each.IsSet() {
				element = "[0]"
			}
			place += around.ID.Value + element + "/"
		}
		width := terminal.Width(place + n.ID.Value)
		if cyclic[g][n.ID.Value] {
			if n.MaxVisits == 0 && place == "" {
				c.unlimited = max(c.unlimited, width)
			}
			width += len(" #") + countDigits(cmp.Or(n.MaxVisits, g.Limits.MaxSteps))
		}
		c.node = min(max(c.node, width), maxNodeColumn)
		return len(place) <= maxNodeColumn
	})
	return c
}

func countDigits(n int) int { return min(len(strconv.Itoa(n)), maxDigits) }

func findCyclicNodes(g *spec.Graph) map[string]bool {
	var from, to []int
	add := func(a, b string) {
		if m, n := g.Node(a), g.Node(b); m != nil && n != nil {
			from, to = append(from, m.Index), append(to, n.Index)
		}
	}
	for _, e := range g.Edges {
		add(e.From.Value, e.To.Value)
	}
	for _, n := range g.Nodes {
		for _, end := range n.Ends {
			add(n.ID.Value, end.Target.Value)
		}
	}
	component, _ := graphalg.New(len(g.Nodes), from, to).SCC()
	out := map[string]bool{}
	for i := range from { // an edge within a component is on a cycle
		if component[from[i]] == component[to[i]] {
			out[g.Nodes[from[i]].ID.Value] = true
		}
	}
	return out
}

// addSteps makes room for step numbers, and so for numbers of visits, up to most.
func (c *columns) addSteps(most int) {
	c.number = max(c.number, countDigits(most)+len("[] "))
	if c.unlimited > 0 {
		c.node = min(max(c.node, c.unlimited+len(" #")+countDigits(most)), maxNodeColumn)
	}
}

// indent returns the column at which the text of a line starts.
func (c *columns) indent() int { return c.number + c.node + len("  ") }
