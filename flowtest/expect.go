// Expectations: what must hold at the end of a case.

package flowtest

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/spec"
)

// expectation holds what a case expects.
type expectation struct {
	file   *File
	value  *spec.Value
	update bool // "update" stands in its place
	wheres []where
	edges  []edgeWish
}

// where is an expression that must be true.
type where struct {
	text    spec.Text
	program *eval.Program
}

// edgeWish is an edge that must fire, or must not.
type edgeWish struct {
	name  spec.Text
	edges []int // by index: all between two nodes, or the one with that id
	fired bool
}

// expectation reads and checks the key expect.
func (f *File) expectation(c *Case, v *spec.Value) *expectation {
	x := &expectation{file: f, value: v}
	if v == nil || v.Kind == spec.Map && len(v.Fields) == 0 {
		if f.misshapen(c) { // what it expects was not readable
			return x
		}
		f.report(c.at, "missing-field", "case %s expects nothing: say what must hold at the end with expect, or expect: update", quoted(c.Name))
		return x
	}
	if x.update = v.Kind == spec.String; x.update {
		return x
	}
	words := map[string][]string{
		"status":  {"cancelled", "completed", "failed", "limit", "paused", "stuck"},
		"quality": {"clean", "degraded", "failed"},
	}
	for _, key := range []string{"status", "quality"} {
		if word := v.Get(key); word != nil && !slices.Contains(words[key], word.Text.Value) && !isPattern(word.Text.Value) {
			f.unknown(word.Span, key, word.Text.Value, words[key])
			f.found[len(f.found)-1].Rule = "invalid-value"
		}
	}
	f.checkPatterns(v)
	f.checkPath(v.Get("path"))
	for _, key := range []string{"visits"} {
		if visits := v.Get(key); visits != nil {
			for i := range visits.Fields {
				f.checkOwnNode(visits.Fields[i].Key)
			}
		}
	}
	if d := v.Get("duration"); d != nil && !isPattern(d.Text.Value) {
		if _, err := time.ParseDuration(d.Text.Value); err != nil {
			f.report(d.Span, "invalid-value", `"duration" is %s; want a duration such as 1h30m, or /a pattern/`, quoted(d.Text.Value))
		}
	}
	x.wheres = f.wheres(v.Get("where"))
	if edges := v.Get("edges"); edges != nil {
		x.edges = append(f.edgeWishes(edges.Get("fired"), true), f.edgeWishes(edges.Get("not_fired"), false)...)
	}
	return x
}

// checkOwnNode reports an unknown node of the flow itself.
func (f *File) checkOwnNode(name spec.Text) {
	if isPattern(name.Value) || f.Graph.Node(name.Value) != nil {
		return
	}
	var known []string
	for _, n := range f.Graph.Nodes {
		known = append(known, n.ID.Value)
	}
	f.unknown(name.Span, "node", name.Value, known)
}

func (f *File) checkPath(v *spec.Value) {
	if v == nil {
		return
	}
	if v.Kind == spec.List {
		for _, name := range textsOf(v) {
			f.checkOwnNode(name)
		}
		return
	}
	for i := range v.Fields {
		field := &v.Fields[i]
		if field.Key.Value != "matches" {
			for _, name := range textsOf(&field.Value) {
				f.checkOwnNode(name)
			}
		} else if _, err := regexp.Compile(unwrapped(field.Value.Text.Value)); err != nil {
			f.report(field.Value.Span, "invalid-value", "no regular expression: %v", err)
		}
	}
}

// checkPatterns reports invalid regular expressions between slashes.
func (f *File) checkPatterns(v *spec.Value) {
	switch v.Kind {
	case spec.List:
		for i := range v.Items {
			f.checkPatterns(&v.Items[i])
		}
	case spec.Map:
		for i := range v.Fields {
			f.checkPatterns(&v.Fields[i].Value)
		}
	case spec.String:
		if !isPattern(v.Text.Value) {
			return
		}
		if _, err := regexp.Compile(unwrapped(v.Text.Value)); err != nil {
			f.report(v.Span, "invalid-value", "no regular expression: %v", err)
		}
	}
}

func (f *File) edgeWishes(v *spec.Value, fired bool) []edgeWish {
	var out []edgeWish
	for _, name := range textsOf(v) {
		w := edgeWish{name: name, fired: fired}
		from, to, isPair := strings.Cut(strings.ReplaceAll(name.Value, "→", "->"), "->")
		from, to = strings.TrimSpace(from), strings.TrimSpace(to)
		var known []string
		for i, e := range f.Graph.Edges {
			if isPair && e.From.Value == from && e.To.Value == to || !isPair && e.ID.Value == name.Value {
				w.edges = append(w.edges, i)
			}
			known = append(known, edgeName(e))
			if e.ID.IsSet() {
				known = append(known, e.From.Value+" -> "+e.To.Value)
			}
		}
		if len(w.edges) == 0 {
			f.unknown(name.Span, "edge", name.Value, known)
		}
		out = append(out, w)
	}
	return out
}

// edgeName returns the name of an edge in test files.
func edgeName(e *spec.Edge) string {
	if e.ID.IsSet() {
		return e.ID.Value
	}
	return e.From.Value + " -> " + e.To.Value
}

// wantsUnfit reports whether the case expects that an output breaks its schema: its
// error says so, or a condition asks for it.
func (x *expectation) wantsUnfit() bool {
	const kind = "invalid_output"
	if want := x.value.Get("error"); want != nil {
		if named := want.Get("kind"); named != nil && matchText(named.Text.Value, kind) {
			return true
		}
	}
	return slices.ContainsFunc(x.wheres, func(w where) bool { return strings.Contains(w.text.Value, kind) })
}
