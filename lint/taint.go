// Where text comes from: whether a model, a program, a server or a person
// wrote what an expression reads.

package lint

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/spec"
)

// origin says who wrote a value. The order is that of trust, most first.
type origin int

const (
	ofFlow  origin = iota // the graph file itself
	ofInput               // whoever starts the run, or a person asked
	ofWorld               // a model, a tool, a program, a server
)

func (o origin) String() string {
	switch o {
	case ofInput:
		return "the run's input"
	case ofWorld:
		return "the output of a model, a tool or a server"
	}
	return "the graph itself"
}

// originOfKind is who writes the output of a node.
func originOfKind(kind string) origin {
	switch kind {
	case "pass", "set", "wait", "fail":
		return ofFlow
	case "human":
		return ofInput
	}
	return ofWorld
}

// originOf is the least trusted origin of what a program reads. Numbers,
// booleans and values of an enum of plain words are the graph's own, wherever
// they come from.
func (f *facts) originOf(u *dataflow.Use) origin {
	if harmless(u.Program.Type()) {
		return ofFlow
	}
	worst := ofFlow
	for _, r := range u.Program.Reads() {
		worst = max(worst, f.originOfRead(u, r))
	}
	return worst
}

func harmless(t eval.Type) bool {
	switch t.String() {
	case "integer", "number", "boolean", "null":
		return true
	}
	return false
}

func (f *facts) originOfRead(u *dataflow.Use, r eval.Read) origin {
	if key, ok := f.keyOf[r.Path[0]]; ok {
		if closed(f.graph.State[key].Schema) || harmless(fieldType(f.graph.State[key], r)) {
			return ofFlow
		}
		return f.originOfKeys()[key]
	}
	switch r.Path[0] {
	case "output":
		if u.Node >= 0 {
			return f.originOfOutput(u.Node)
		}
	case "nodes", "history":
		if len(r.Path) > 1 && f.graph.Node(r.Path[1]) != nil {
			if r.Path[len(r.Path)-1] == "visits" {
				return ofFlow
			}
			return f.originOfOutput(f.graph.Node(r.Path[1]).Index)
		}
		return ofWorld
	case "input", "inputs":
		if u.Node >= 0 {
			return f.originOfInput(u.Node, r)
		}
	case "item":
		if u.Node >= 0 && f.bound.Nodes[u.Node].Each != nil {
			return f.originOfProgram(u.Node, f.bound.Nodes[u.Node].Each)
		}
		return ofWorld
	case "branches", "last", "error":
		return ofWorld
	case "run":
		if len(r.Path) > 1 && r.Path[1] == "input" {
			return ofInput
		}
	}
	return ofFlow
}

// fieldType is the type of what a read reaches inside a key.
func fieldType(key *spec.StateKey, r eval.Read) eval.Type {
	t := eval.FromSchema(key.Schema)
	for _, name := range r.Path[1:] {
		t, _, _ = t.Field(name)
	}
	return t
}

// closed reports whether a schema admits only words that are safe anywhere, by its
// values or by a pattern. A format is no more than a note.
func closed(schema map[string]any) bool {
	if pattern, ok := schema["pattern"].(string); ok && narrow(pattern) {
		return true
	}
	values, ok := schema["enum"].([]any)
	return ok && !slices.ContainsFunc(values, func(v any) bool {
		s, isText := v.(string)
		return isText && strings.ContainsFunc(s, func(r rune) bool { return !isPlain(r) })
	})
}

// narrow reports whether a pattern is about the whole text, and admits only plain
// characters.
func narrow(pattern string) bool {
	re, err := syntax.Parse(pattern, syntax.Perl)
	return err == nil && bounded(re, syntax.OpBeginText) && bounded(re, syntax.OpEndText) && plainOnly(re)
}

// bounded reports whether all that a pattern admits begins, or ends, with the text.
func bounded(re *syntax.Regexp, at syntax.Op) bool {
	switch re.Op {
	case at:
		return true
	case syntax.OpCapture:
		return bounded(re.Sub[0], at)
	case syntax.OpConcat:
		i := 0
		if at == syntax.OpEndText {
			i = len(re.Sub) - 1
		}
		return bounded(re.Sub[i], at)
	case syntax.OpAlternate:
		return !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !bounded(sub, at) })
	}
	return false
}

// plainOnly reports whether a pattern admits plain characters only.
func plainOnly(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return false
	case syntax.OpLiteral:
		return !slices.ContainsFunc(re.Rune, func(r rune) bool { return !isPlain(r) })
	case syntax.OpCharClass:
		for i := 0; i+1 < len(re.Rune); i += 2 {
			for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
				if !isPlain(r) {
					return false
				}
			}
		}
	}
	return !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !plainOnly(sub) })
}

func isPlain(r rune) bool {
	return r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-./:@ ", r))
}

// originOfKeys is who may have written each state key.
func (f *facts) originOfKeys() []origin {
	if f.origins != nil {
		return f.origins
	}
	out := make([]origin, len(f.graph.State))
	type copyOf struct{ to, from int }
	var copies []copyOf
	for i, key := range f.graph.State {
		if key.Required || key.Default == nil {
			out[i] = ofInput
		}
	}
	for v, a := range f.access() {
		kind := f.graph.Nodes[v].Kind.Value
		for _, w := range a.Writes {
			if w.Value == nil {
				if kind != "set" {
					out[w.Key] = max(out[w.Key], originOfKind(kind))
				}
				continue
			}
			u := dataflow.Use{Node: v, Edge: -1}
			for _, r := range w.Value.Reads() {
				if from, ok := f.keyOf[r.Path[0]]; ok {
					copies = append(copies, copyOf{w.Key, from})
				} else if !harmless(w.Value.Type()) {
					out[w.Key] = max(out[w.Key], f.originOfRead(&u, r))
				}
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for _, c := range copies {
			if out[c.from] > out[c.to] {
				out[c.to], changed = out[c.from], true
			}
		}
	}
	f.origins = out
	return out
}
