// Expectations: what must hold at the end of a case.

package flowtest

import (
	"regexp"
	"slices"
	"strings"

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
		if f.misshapen(c) { // its expectations are unreadable
			return x
		}
		f.report(c.at, "missing-field", "case %s expects nothing: say what must hold at the end with expect, or expect: update", quoted(c.Name))
		return x
	}
	if x.update = v.Kind == spec.String; x.update {
		return x
	}
	for key, words := range map[string][]string{ //lint:ignore mapiter findings are sorted
		"status":  {"cancelled", "completed", "failed", "limit", "paused", "stuck"},
		"quality": {"clean", "degraded", "failed"},
	} {
		if word := v.Get(key); word != nil && !slices.Contains(words, word.Text.Value) && !isPattern(word.Text.Value) {
			f.unknown(word.Span, key, word.Text.Value, words)
			f.found[len(f.found)-1].Rule = "invalid-value"
		}
	}
	f.checkPatterns(v)
	f.checkPath(v.Get("path"))
	if visits := v.Get("visits"); visits != nil {
		for i := range visits.Fields {
			f.checkOwnNode(visits.Fields[i].Key)
		}
	}
	if d := v.Get("duration"); d != nil && !isPattern(d.Text.Value) && !spec.IsDuration(d.Text.Value) {
		f.report(d.Span, "invalid-value", `"duration" is %q; want a duration such as 1h30m, or /a pattern/`, d.Text.Value)
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
	f.unknown(name.Span, "node", name.Value, collect(f.Graph.Nodes, func(n *spec.Node) string { return n.ID.Value }))
}

func (f *File) checkPath(v *spec.Value) {
	for _, name := range textsOf(v) { // none of a map
		f.checkOwnNode(name)
	}
	if v == nil {
		return
	}
	for i := range v.Fields {
		if field := &v.Fields[i]; field.Key.Value == "matches" {
			f.checkPattern(field.Value.Text)
			continue
		}
		for _, name := range textsOf(&v.Fields[i].Value) {
			f.checkOwnNode(name)
		}
	}
}

// checkPatterns reports invalid regular expressions between slashes.
func (f *File) checkPatterns(v *spec.Value) {
	for i := range v.Items {
		f.checkPatterns(&v.Items[i])
	}
	for i := range v.Fields {
		f.checkPatterns(&v.Fields[i].Value)
	}
	if v.Kind == spec.String && isPattern(v.Text.Value) {
		f.checkPattern(v.Text)
	}
}

func (f *File) checkPattern(text spec.Text) {
	if _, err := regexp.Compile(unwrapped(text.Value)); err != nil {
		f.report(text.Span, "invalid-value", "no regular expression: %v", err)
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
			if known = append(known, e.From.Value+" -> "+e.To.Value); e.ID.IsSet() {
				known = append(known, e.ID.Value)
			}
		}
		if len(w.edges) == 0 {
			f.unknown(name.Span, "edge", name.Value, known)
		}
		out = append(out, w)
	}
	return out
}

// wantsUnfit reports whether the case expects that an output breaks its schema: its
// error says so, or a condition asks for it.
func (x *expectation) wantsUnfit() bool {
	const kind = "invalid_output"
	named := x.value.Get("error").Get("kind")
	return named != nil && matchText(named.Text.Value, kind) ||
		slices.ContainsFunc(x.wheres, func(w where) bool { return strings.Contains(w.text.Value, kind) })
}
