// Flows with known results, as data. Any implementation can be tested against them.

package referencetest

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Case is a flow, the behaviour of its steps, and the result that the language's page requires.
type Case struct {
	Name string
	// Says quotes the sentence of the page that decides the result, with its section.
	Says string
	// Top holds further lines of the file, State further keys, and Nodes lines `id: {…}`. A node that only
	// Edges names is an exec node that appends its id to `log`; if the id begins with j, it also has
	// `join: {wait: all}`.
	Top, State, Nodes string
	// Edges holds lines `a > b c {keys}`: an edge from a to each target, as one declaration. The first
	// source is the start.
	Edges string
	// Do describes what steps do, by node: `x`, `x#2` (visit 2), `x@2` (attempt 2), `x[1]` (element 1),
	// `sub/x`; the most specific one counts. Steps without an entry yield null after one second.
	Do      map[string]Act
	Options Options
	Want    Want
}

// Act is what a step does. For a question, Out is the answer and Takes its delay.
type Act struct {
	Takes time.Duration
	Out   any
	Fails string // the kind of its failure
	Asks  []string
	Never bool // nobody answers, or the decision fails
}

// Want is what a case expects; fields that are not set are not compared.
type Want struct {
	// Status is the expected status; "" means "completed".
	Status, Quality, Reason string
	// Path holds ids separated by blanks; Log holds the value of the key `log`, likewise.
	Path, Log string
	State     map[string]any
	Output    any
	// Error is "kind" or "kind node".
	Error string
	Steps int
	Took  time.Duration
	// Saw holds values of expressions of steps, as texts: "d.visits.a": "2".
	Saw map[string]string
	// Pending lists nodes.
	Pending string
}

// FileText returns the case as a graph file.
func (c Case) FileText() string {
	var b strings.Builder
	var ids, named, edges []string
	for _, line := range splitLines(c.Nodes) {
		named = append(named, line[:strings.Index(line, ":")])
	}
	for _, line := range splitLines(c.Edges) {
		ends, keys, _ := strings.Cut(line, "{")
		from, to, _ := strings.Cut(ends, ">")
		keys = strings.TrimSuffix(strings.TrimSpace(keys), "}")
		if keys != "" {
			keys = ", " + keys
		}
		from = strings.TrimSpace(from)
		targets := strings.Fields(to)
		ids = append(append(ids, from), targets...)
		edges = append(edges, fmt.Sprintf("  - {from: %s, to: [%s]%s}\n", from, strings.Join(targets, ", "), keys))
	}
	fmt.Fprintf(&b, "graphrun: v1\nname: case\nstart: %s\n", ids[0])
	for _, line := range strings.Split(c.Top, "\n") {
		if strings.TrimSpace(line) != "" {
			b.WriteString(line + "\n")
		}
	}
	b.WriteString("state:\n  log: {type: array, reducer: append, default: []}\n  n: {type: integer, reducer: sum, default: 0}\n  k: {}\n")
	for _, line := range splitLines(c.State) {
		b.WriteString("  " + line + "\n")
	}
	b.WriteString("nodes:\n")
	for _, line := range splitLines(c.Nodes) {
		b.WriteString("  " + line + "\n")
	}
	for _, id := range ids {
		if id == "END" || slices.Contains(named, id) {
			continue
		}
		named = append(named, id)
		join := ""
		if id[0] == 'j' {
			join = ", join: {wait: all}"
		}
		fmt.Fprintf(&b, "  %s: {kind: exec, command: [x], writes: {log: \"'%s'\"}%s}\n", id, id, join)
	}
	b.WriteString("edges:\n" + strings.Join(edges, ""))
	return b.String()
}

// splitLines returns the lines of a text that are not blank, trimmed.
func splitLines(text string) []string {
	var out []string
	for _, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// findAct returns what a step does. The most specific entry of Do counts.
func (c Case) findAct(s StepID, n int) Act {
	name := s.Node
	if s.Scope != "" {
		name = s.Scope + "/" + name
	}
	visit, attempt, element := fmt.Sprintf("#%d", s.Visit), fmt.Sprintf("@%d", n), fmt.Sprintf("[%d]", s.Element)
	for _, key := range []string{element + attempt, element, visit + attempt, visit, attempt, ""} {
		if a, ok := c.Do[name+key]; ok {
			return a
		}
	}
	return Act{}
}

// Attempt implements World.
func (c Case) Attempt(s StepID, n int) (Outcome, time.Duration) {
	a := c.findAct(s, n)
	if a.Takes == 0 {
		a.Takes = time.Second
	}
	switch {
	case len(a.Asks) > 0 && s.Round == 0:
		return Outcome{Asks: a.Asks}, a.Takes
	case a.Fails != "":
		return Outcome{Error: &Error{Kind: a.Fails, Message: "scripted"}}, a.Takes
	}
	return Outcome{Output: a.Out}, a.Takes
}

// Answer implements World.
func (c Case) Answer(s StepID, _ string) (any, time.Duration, bool) {
	a := c.findAct(s, 1)
	if a.Out == nil {
		a.Out = "yes"
	}
	return a.Out, max(a.Takes, time.Second), !a.Never
}

// Choose implements World.
func (c Case) Choose(s StepID, _ []string) (string, bool) {
	a := c.findAct(s, 1)
	to, _ := a.Out.(string)
	return to, !a.Never
}

func replaceOnce(text, old, with string) string { return strings.Replace(text, old, with, 1) }
