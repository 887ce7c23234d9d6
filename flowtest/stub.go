// Stubs: the results of nodes and tools that do not run.

package flowtest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
)

// stub holds the results of a node: one for all visits, or a list by visit.
type stub struct {
	name   string // the path of the node
	line   int
	visits []*entry
	list   bool
	// exprs are the entries with an expression.
	exprs []*entry
}

// entry is the result of one execution.
type entry struct {
	line     int
	output   *spec.Value // may be nil
	failure  *runner.Failure
	expr     spec.Text
	key      string // the name of the expression under exprsKey
	guard    string // a condition: the entry is for this execution
	attempts []*entry
	items    []*entry
	real     bool
	delay    time.Duration
	events   []map[string]any
}

// readStubs reads stubs by name. check reports unknown names.
func (f *File) readStubs(v *spec.Value, check func(spec.Text)) map[string]*stub {
	if v == nil {
		return nil
	}
	out := map[string]*stub{}
	for i := range v.Fields {
		field := &v.Fields[i]
		check(field.Key)
		s := &stub{name: field.Key.Value, line: f.lineOf(field.Key.Span), list: field.Value.Kind == spec.List}
		given := field.Value.OneOrAll()
		for j := range given {
			var guards []string
			if s.list && !strings.Contains(s.name, "/") {
				guards = []string{"visit == " + strconv.Itoa(j+1)}
			}
			s.visits = append(s.visits, f.readEntry(s, &given[j], guards))
		}
		out[s.name] = s
	}
	return out
}

func (f *File) readEntry(s *stub, v *spec.Value, guards []string) *entry {
	e := &entry{line: f.lineOf(v.Span), output: v.Get("output"), delay: durationOf(v.Get("delay"))}
	if failure := v.Get("error"); failure != nil {
		kind, kinds := textOf(failure.Get("kind")), spec.FailureKinds()
		e.failure = &runner.Failure{Kind: kind.Value, Message: cmp.Or(textOf(failure.Get("message")).Value, "the stub says so")}
		if near := suggest.Closest(kind.Value, kinds); near != "" && !slices.Contains(kinds, kind.Value) { // programs may use kinds of their own
			f.report(kind.Span, "invalid-value", "no failure is of kind %q; did you mean %q?", kind.Value, near)
		}
		if details := failure.Get("details"); details != nil {
			e.failure.Details, _ = details.Data().(map[string]any)
		}
	}
	if expr := v.Get("expr"); expr != nil {
		e.expr, e.key, e.guard = expr.Text, strconv.Itoa(len(s.exprs)), strings.Join(guards, " and ")
		s.exprs = append(s.exprs, e)
	}
	for _, item := range v.Get("attempts").OneOrAll() {
		e.attempts = append(e.attempts, f.readEntry(s, &item, guards))
	}
	for i, item := range v.Get("items").OneOrAll() {
		e.items = append(e.items, f.readEntry(s, &item, append(slices.Clip(guards), "index == "+strconv.Itoa(i))))
	}
	if yes := v.Get("real"); yes != nil {
		if e.real, _ = yes.Data().(bool); !e.real {
			f.report(yes.Span, "invalid-value", `"real" must be true: leave it out, or say what the node comes to`)
		}
	}
	for _, item := range v.Get("events").OneOrAll() {
		event, _ := item.Data().(map[string]any)
		e.events = append(e.events, event)
	}
	return e
}

// guardedExpr returns the expression, which is null in other executions.
func (e *entry) guardedExpr() string {
	if e.guard == "" {
		return e.expr.Value
	}
	return "(" + e.guard + ") ? (" + e.expr.Value + ") : nil"
}

// occasion identifies an execution.
type occasion struct {
	visit, attempt int // from 1
	index          int // of an element, from 0; -1 without each
}

// pickEntry returns the entry for an execution, or the reason why there is none.
func (s *stub) pickEntry(at occasion, what string) (e *entry, problem string) {
	e = s.visits[0]
	if n := len(s.visits); s.list && at.visit > n {
		entries := strconv.Itoa(n) + " entries"
		if n == 1 {
			entries = "1 entry"
		}
		return nil, fmt.Sprintf("no stub for %s %d of %q: its list has %s", what, at.visit, s.name, entries)
	} else if s.list {
		e = s.visits[at.visit-1]
	}
	for {
		switch {
		case e.items != nil && at.index < 0:
			return nil, fmt.Sprintf("the stub of %q has items, but the node has no each", s.name)
		case e.items != nil && at.index >= len(e.items):
			return nil, fmt.Sprintf("no stub for element %d of %q: its items are %d", at.index, s.name, len(e.items))
		case e.items != nil:
			e = e.items[at.index]
		case e.attempts != nil && at.attempt > len(e.attempts):
			return nil, fmt.Sprintf("no stub for attempt %d of %q: its attempts are %d", at.attempt, s.name, len(e.attempts))
		case e.attempts != nil:
			e = e.attempts[at.attempt-1]
		default:
			return e, ""
		}
	}
}

// isReal reports whether one of the entries runs the node.
func (s *stub) isReal() bool {
	var isReal func(e *entry) bool
	isReal = func(e *entry) bool {
		return e.real || slices.ContainsFunc(e.attempts, isReal) || slices.ContainsFunc(e.items, isReal)
	}
	return slices.ContainsFunc(s.visits, isReal)
}
