// Values for a rehearsal: what an input or a result may be.

package lint

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/schema"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/spec"
)

// unknown stands for a value that can't be told.
type unknown struct{}

// put notes a write.
func (s *scene) put(name string, u update) {
	s.own()
	delete(s.values, name)
	delete(s.derived, name)
	delete(s.fixed, name)
	s.wrote = with(s.wrote, name)
	maps.DeleteFunc(s.guesses, func(_ string, g guess) bool { return slices.Contains(g.roots, name) })
	switch u.kind {
	case writesValue:
		s.values[name] = u.value
		s.fixed = with(s.fixed, name)
	case writesUnknown:
		s.derived = with(s.derived, name)
	}
}

func with(set map[string]bool, name string) map[string]bool {
	if set == nil {
		set = map[string]bool{}
	}
	set[name] = true
	return set
}

// eval evaluates a program, once for each choice of what it reads and nobody has
// settled yet; not ok when it can't be evaluated. A run in which it fails ends.
func (r *rehearsal) eval(s *scene, p *eval.Program, t *standing, over map[string]any, then func(s *scene, value any, ok bool)) {
	if r.f.rehearsed++; r.f.rehearsed > maxRehearsed {
		return // what is not looked at is not claimed
	}
	env := map[string]any{}
	for _, read := range p.Reads() {
		name := read.Path[0]
		switch name {
		case "visits":
			env[name] = r.visitsOf(s)
			continue
		case "step":
			env[name] = t.step
			continue
		}
		if name == "branches" && tellsErrors(p) && r.f.graph.Nodes[t.node].Join != nil {
			env[name] = t.branches
			continue
		}
		key, declared := r.f.keyOf[name]
		if !declared {
			then(s, nil, false)
			return
		}
		value, known := over[name]
		if !known {
			value, known = s.values[name]
		}
		if _, is := value.(unknown); is || !known && (s.derived[name] || s.guessed(name) || len(r.choicesAt(s, key)) == 0) {
			then(s, nil, false)
			return
		}
		if !known {
			if !r.listed(key) {
				r.gap(fmt.Sprintf("%q may have many values", name))
			}
			for _, option := range r.choicesAt(s, key) {
				if r.broken {
					return
				}
				there := s.clone()
				there.own()
				there.values[name] = option
				r.eval(there, p, t, over, then)
			}
			return
		}
		env[name] = value
	}
	value, err := r.vm.Eval(p, env)
	if err != nil {
		r.gap("expressions may fail")
		return
	}
	then(s, value, true)
}

// errorOnly finds what a program asks of branches besides whether they failed.
var errorOnly = regexp.MustCompile(`branches\s*(\[[^\]]*\]|\.\w+)\s*\.\s*error\s*(!=|==)\s*(nil|null)`)

// tellsErrors reports whether a program asks of branches only whether they failed.
func tellsErrors(p *eval.Program) bool {
	return !strings.Contains(errorOnly.ReplaceAllString(p.Source(), ""), "branches")
}

// listed reports whether the options of a key are all that it may hold.
func (r *rehearsal) listed(key int) bool {
	d := r.f.wholeDomain(r.f.graph.State[key])
	n := len(r.options(key))
	return n < maxOptions && !r.trusted[r.f.graph.State[key].Name.Value] && (d.Values != nil || d.Kind == solve.Bool || d.Kind == solve.Int && d.HasMin && d.HasMax && d.Max-d.Min < maxOptions)
}

func (r *rehearsal) visitsOf(s *scene) map[string]any {
	out := make(map[string]any, len(s.visits))
	for v, n := range s.visits {
		out[r.f.Name(v)] = n
	}
	return out
}

// choicesAt are the options of a key in a scene: before it is written it may have no
// value at all.
func (r *rehearsal) choicesAt(s *scene, key int) []any {
	k := r.f.graph.State[key]
	options := r.options(key)
	if s.wrote[k.Name.Value] || k.Required || k.Default != nil || k.Once || len(options) == 0 && !r.trusted[k.Name.Value] {
		return options
	}
	return append(slices.Clip(options), nil)
}

// maxOptions bounds how many values of a key are tried.
const maxOptions = 24

// options are values that a key may hold, as many as conditions tell apart; none
// for a key whose values can't be listed.
func (r *rehearsal) options(key int) []any {
	if list, known := r.choices[key]; known {
		return list
	}
	k := r.f.graph.State[key]
	var out []any
	switch {
	case k.Once:
	case r.trusted[k.Name.Value]:
		if k.Default != nil {
			out = []any{k.Default.Data()}
		}
	default:
		out = r.listOptions(k)
	}
	out = slices.DeleteFunc(out, func(v any) bool { return !r.fits(key, v) })
	r.choices[key] = out[:min(len(out), maxOptions)]
	return r.choices[key]
}

func (r *rehearsal) listOptions(k *spec.StateKey) []any {
	var out []any
	if k.Default != nil {
		out = append(out, k.Default.Data())
	}
	d := r.f.wholeDomain(k)
	switch {
	case d.Values != nil:
		return append(out, d.Values...)
	case d.Kind == solve.Bool:
		return append(out, true, false)
	case d.Kind == solve.Int, d.Kind == solve.Number, d.Kind == solve.String:
	case d.Kind == solve.Other:
		return append(out, r.compounds(k)...)
	default:
		return nil
	}
	if d.Kind == solve.Int && d.HasMin && d.HasMax && d.Max-d.Min < maxOptions {
		for n := d.Min; n <= d.Max; n++ {
			out = append(out, int(n))
		}
		return out
	}
	for _, u := range r.f.uses().All {
		if u.Program == nil || !dataflow.ReadsKey(u.Program, k.Name.Value) {
			continue
		}
		u.Program.Tree().Each(func(t *eval.Tree) {
			switch v := t.Value.(type) {
			case int:
				if d.Kind != solve.String {
					out = append(out, v, v+1, v-1)
				}
			case float64:
				if d.Kind == solve.Number {
					out = append(out, v, v+1, v-1)
				}
			case string:
				if d.Kind == solve.String {
					out = append(out, v)
				}
			}
		})
	}
	if d.Kind == solve.String {
		out = append(out, "other", "")
	} else {
		out = append(out, 0, 1)
	}
	seen := map[any]bool{}
	return slices.DeleteFunc(out, func(v any) bool {
		was := seen[v]
		seen[v] = true
		return was
	})
}

// fits reports whether a key can hold a value.
func (r *rehearsal) fits(key int, value any) bool {
	compiled, known := r.schemas[key]
	if !known {
		compiled, _ = schema.Compile(r.f.graph.State[key].Schema)
		r.schemas[key] = compiled
	}
	return compiled != nil && compiled.Check(value) == nil
}

// guess is the outcome of a condition that can't be evaluated.
type guess struct {
	holds bool
	roots []string
}

// guessed reports whether a condition over a key was guessed.
func (s *scene) guessed(name string) bool {
	for _, g := range s.guesses { //lint:ignore mapiter any will do
		if slices.Contains(g.roots, name) {
			return true
		}
	}
	return false
}

// guess lets a condition hold or not that is over results of what the flow calls,
// and over nothing that another such condition is about.
func (r *rehearsal) guess(s *scene, p *eval.Program, t *standing, then func(*scene, bool)) {
	key := p.Tree().Key()
	if p.Uses("output") {
		key = fmt.Sprint(t.node, key)
	}
	if g, known := s.guesses[key]; known {
		then(s, g.holds)
		return
	}
	var roots []string
	for _, read := range p.Reads() {
		name := read.Path[0]
		_, declared := r.f.keyOf[name]
		switch {
		case r.trusted[name]:
			return
		case declared && !s.derived[name] && !s.fixed[name] && len(r.options(r.f.keyOf[name])) == 0 && !s.guessed(name):
			roots = append(roots, name)
		case name == "output" && !r.immediate(t.node):
			for _, key := range r.f.yielded(t.node) {
				if _, known := s.values[key]; known || s.guessed(key) {
					r.gap(fmt.Sprintf("what %q yields", r.f.Name(t.node)))
					return // what the key holds tells what the output was
				}
				roots = append(roots, key)
			}
		default:
			r.gap(fmt.Sprintf("%q is known at run time only", p.Source()))
			return
		}
	}
	for _, holds := range []bool{true, false} {
		there := s.clone()
		if len(roots) > 0 {
			there.own()
			if there.guesses == nil {
				there.guesses = map[string]guess{}
			}
			there.guesses[key] = guess{holds, roots}
		}
		then(there, holds)
	}
}
