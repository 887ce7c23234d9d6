// Package flowdiff compares two versions of a graph and finds changes that break callers: those
// who run it, embed it or answer its questions.
package flowdiff

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/spec"
)

// flow is one version of the graph, with its settings as plain data.
type flow struct {
	*spec.Graph
	settings map[string]any
}

// Change is one difference.
type Change struct {
	// Kind is input, output, secret, question, start, node, edge, guard, limit, setting or graph.
	Kind string `json:"kind"`
	// Change is added, removed or changed.
	Change string `json:"change"`
	// Name is the key, the node, or the edge as "a → b", with a prefix "#name/" in a graph of
	// the file's graphs.
	Name string `json:"name"`
	// Detail describes the difference, or is "".
	Detail string `json:"detail"`
	// Breaking says that callers of the old version may fail with the new one.
	Breaking bool `json:"breaking"`
	// Line is the line in the new file, or in the old one if it was removed, or 0.
	Line int `json:"line"`
}

// Compare lists the changes from one version to another, the breaking ones
// first, then by kind and name.
func Compare(before, after *spec.Graph) []Change {
	c := &comparison{before: flow{before, before.Settings()}, after: flow{after, after.Settings()}}
	c.inputs()
	c.output()
	c.outputTypes()
	c.secrets()
	c.settings()
	c.nodes()
	c.edges()
	c.graphs()
	slices.SortStableFunc(c.found, func(a, b Change) int {
		return cmp.Or(cmp.Compare(order(a), order(b)), cmp.Compare(a.Name, b.Name))
	})
	return c.found
}

func order(c Change) int {
	kinds := []string{"input", "output", "secret", "question", "start", "node", "edge", "guard", "limit", "setting", "graph"}
	n := slices.Index(kinds, c.Kind)
	if !c.Breaking {
		n += len(kinds)
	}
	return n
}

type comparison struct {
	before, after flow
	found         []Change
}

func (c *comparison) add(kind, change, name, detail string, breaking bool, line int) {
	c.found = append(c.found, Change{kind, change, name, detail, breaking, line})
}

// lineOf returns the line of a span.
func (f *flow) lineOf(s spec.Span) int { return f.File.Position(s.From).Line }

// inputs compares the state keys, which callers may set.
func (c *comparison) inputs() {
	for _, old := range c.before.Graph.State {
		name := old.Name.Value
		now := c.after.Graph.Key(name)
		if now == nil {
			c.add("input", "removed", name, "", true, c.before.lineOf(old.Name.Span))
			continue
		}
		line := c.after.lineOf(now.Name.Span)
		switch {
		case now.Required && !old.Required:
			c.add("input", "changed", name, "is now required", true, line)
		case old.Required && !now.Required:
			c.add("input", "changed", name, "is no longer required", false, line)
		}
		for _, d := range schemaChanges(old.Schema, now.Schema, "") {
			c.add("input", "changed", name, d.text, d.narrower, line)
		}
		if a, b := defaultOf(old), defaultOf(now); a != b {
			c.add("input", "changed", name, "default "+a+" is now "+b, false, line)
		}
		if a, b := reducerOf(old), reducerOf(now); a != b {
			c.add("input", "changed", name, "reducer "+a+" is now "+b, false, line)
		}
		if now.Secret != old.Secret {
			word := "is no longer secret"
			if now.Secret {
				word = "is now secret, so results hide it"
			}
			c.add("input", "changed", name, word, now.Secret, line)
		}
	}
	for _, now := range c.after.Graph.State {
		if c.before.Graph.Key(now.Name.Value) == nil {
			detail := ""
			if now.Required {
				detail = "required"
			}
			c.add("input", "added", now.Name.Value, detail, now.Required, c.after.lineOf(now.Name.Span))
		}
	}
}

func defaultOf(k *spec.StateKey) string {
	if k.Default == nil {
		return "none"
	}
	return text(k.Default.Data())
}

func reducerOf(k *spec.StateKey) string {
	if !k.Reducer.IsSet() {
		return "replace"
	}
	return k.Reducer.Value
}

// output compares the output expressions.
func (c *comparison) output() {
	before, after := c.before.Graph.Output, c.after.Graph.Output
	switch {
	case before == nil && after == nil:
		return
	case before == nil:
		c.add("output", "added", "output", "it was the output of the last node", true, c.after.lineOf(after.Span))
		return
	case after == nil:
		c.add("output", "removed", "output", "it is now the output of the last node", true, c.before.lineOf(before.Span))
		return
	case before.Kind != spec.Map || after.Kind != spec.Map:
		if a, b := text(before.Data()), text(after.Data()); a != b {
			c.add("output", "changed", "output", a+" is now "+b, (before.Kind == spec.Map) != (after.Kind == spec.Map), c.after.lineOf(after.Span))
		}
		return
	}
	for i := range before.Fields {
		old := &before.Fields[i]
		now := after.Get(old.Key.Value)
		if now == nil {
			c.add("output", "removed", old.Key.Value, "", true, c.before.lineOf(old.Key.Span))
		} else if a, b := text(old.Value.Data()), text(now.Data()); a != b {
			c.add("output", "changed", old.Key.Value, a+" is now "+b, false, c.after.lineOf(now.Span))
		}
	}
	for i := range after.Fields {
		if key := after.Fields[i].Key; before.Get(key.Value) == nil {
			c.add("output", "added", key.Value, "", false, c.after.lineOf(key.Span))
		}
	}
}

// secrets compares the secrets that a run needs.
func (c *comparison) secrets() {
	source := func(s *spec.Secret) string {
		if s.Env.IsSet() {
			return "variable " + s.Env.Value
		}
		if len(s.Command) > 0 {
			return "the output of " + spec.Words(s.Command)
		}
		return "file " + s.File.Value
	}
	before := map[string]string{}
	for i := range c.before.Graph.Secrets {
		s := &c.before.Graph.Secrets[i]
		before[s.Name.Value] = source(s)
	}
	for i := range c.after.Graph.Secrets {
		s := &c.after.Graph.Secrets[i]
		old, ok := before[s.Name.Value]
		delete(before, s.Name.Value)
		switch line := c.after.lineOf(s.Name.Span); {
		case !ok:
			c.add("secret", "added", s.Name.Value, "from "+source(s), true, line)
		case old != source(s):
			c.add("secret", "changed", s.Name.Value, old+" is now "+source(s), true, line)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		c.add("secret", "removed", name, "", false, 0)
	}
}

// settings compares the rest of the top level, key by key.
func (c *comparison) settings() {
	skip := []string{"graphrun", "output", "secrets"}
	for _, key := range keysOf(c.before.settings, c.after.settings) {
		if slices.Contains(skip, key) || strings.HasPrefix(key, "x-") {
			continue
		}
		kind := "setting"
		switch key {
		case "start":
			kind = "start"
		case "limits":
			c.limits()
			continue
		case "strict_state":
			if now := c.after.Graph.StrictState; now && !c.before.Graph.StrictState {
				c.add(kind, "changed", key, "undeclared inputs are refused now", true, 0)
				continue
			}
		}
		c.entry(kind, key, c.before.settings, c.after.settings, key)
	}
}

func (c *comparison) limits() {
	before, _ := c.before.settings["limits"].(map[string]any)
	after, _ := c.after.settings["limits"].(map[string]any)
	for _, key := range keysOf(before, after) {
		c.entry("limit", key, before, after, key)
	}
}

// entry compares one entry of two maps.
func (c *comparison) entry(kind, name string, before, after map[string]any, key string) {
	old, had := before[key]
	now, has := after[key]
	switch {
	case !has:
		c.add(kind, "removed", name, "was "+text(old), false, 0)
	case !had:
		c.add(kind, "added", name, text(now), false, 0)
	case !reflect.DeepEqual(old, now):
		c.add(kind, "changed", name, text(old)+" is now "+text(now), false, 0)
	}
}

func keysOf(a, b map[string]any) []string {
	all := slices.Collect(maps.Keys(a))
	for k := range b {
		if _, ok := a[k]; !ok {
			all = append(all, k)
		}
	}
	slices.Sort(all)
	return all
}

// text formats plain data in one line and shortens it.
func text(v any) string {
	const most = 60
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	runes := []rune(strings.TrimSpace(out.String()))
	if len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return string(runes)
}

// graphs compares the graphs of both files, by name.
func (c *comparison) graphs() {
	for _, old := range c.before.Graph.Graphs {
		now := c.after.Graph.Inner(old.Ref())
		if now == nil {
			c.add("graph", "removed", old.Ref(), "", false, c.before.lineOf(old.Entry.Span))
			continue
		}
		for _, change := range Compare(old, now) {
			change.Breaking = change.Breaking && change.Kind == "question"
			change.Name = old.Ref() + "/" + change.Name
			c.found = append(c.found, change)
		}
	}
	for _, now := range c.after.Graph.Graphs {
		if c.before.Graph.Inner(now.Ref()) == nil {
			c.add("graph", "added", now.Ref(), "", false, c.after.lineOf(now.Entry.Span))
		}
	}
}

// outputType describes a part of the output: by its schema, or by its type if it has none.
type outputType struct {
	schema map[string]any
	typ    eval.Type
}

// outputTypes compares the types of the output's parts, which may differ although their
// expressions are the same.
func (c *comparison) outputTypes() {
	before, after := c.before.results(), c.after.results()
	for _, name := range keysOf(before, after) {
		was, had := before[name].(outputType)
		is, has := after[name].(outputType)
		if !had || !has {
			continue
		}
		line := c.outputLine(name)
		switch a, b := was.typ.String(), is.typ.String(); {
		case was.schema != nil && is.schema != nil:
			for _, d := range schemaChanges(was.schema, is.schema, "") {
				if d.wider {
					c.add("output", "changed", name, d.text, true, line)
				}
			}
		case a != b && !was.typ.IsAny() && !is.typ.IsAny() && !was.typ.Accepts(is.typ):
			c.add("output", "changed", name, "type "+a+" is now "+b, true, line)
		}
	}
}

// outputLine returns the line of a part of the new output.
func (c *comparison) outputLine(name string) int {
	out := c.after.Graph.Output
	if out == nil {
		return c.after.lineOf(c.after.Graph.Node(name).ID.Span)
	}
	if part := out.Get(name); out.Kind == spec.Map && part != nil {
		return c.after.lineOf(part.Span)
	}
	return c.after.lineOf(out.Span)
}

// results returns the parts of the output by name. Without a declared output a run returns
// the output of a node that leads to END; these are listed by node, if they declare one.
func (f *flow) results() map[string]any {
	out := map[string]any{}
	if f.Graph.Output == nil {
		for _, e := range f.Graph.Edges {
			if schema, ok := f.outputOf(e.From.Value); ok && e.To.Value == spec.END {
				out[e.From.Value] = outputType{schema: schema}
			}
		}
		return out
	}
	bound, found := bind.Check(f.Graph, nil, nil)
	if found.HasErrors() || bound.Output == nil {
		return out
	}
	if f.Graph.Output.Kind != spec.Map {
		out["output"] = f.typeOf(bound.Output)
		return out
	}
	for _, field := range bound.Output.Fields() {
		out[field.Name] = f.typeOf(&field.Value)
	}
	return out
}

// typeOf returns the type of a bound value.
func (f *flow) typeOf(v *bind.Value) outputType {
	switch p := v.Program(); {
	case v.Template() != nil:
		return outputType{typ: v.Template().Type()}
	case p == nil:
		return outputType{typ: eval.Any()}
	default:
		return outputType{f.schemaAt(p.Path()), p.Type()}
	}
}

// schemaAt returns the schema of a state key or of a member of it, or nil.
func (f *flow) schemaAt(path []any) map[string]any {
	if len(path) > 1 && path[0] == any("state") {
		path = path[1:]
	}
	var schema map[string]any
	for i, part := range path {
		name, isName := part.(string)
		switch key := f.Graph.Key(name); {
		case i == 0 && key != nil:
			schema = key.Schema
		case isName:
			properties, _ := schema["properties"].(map[string]any)
			schema, _ = properties[name].(map[string]any)
		default:
			schema, _ = schema["items"].(map[string]any)
		}
	}
	return schema
}

// outputOf returns the declared output schema of a node.
func (f *flow) outputOf(node string) (schema map[string]any, declared bool) {
	if n := f.Graph.Node(node); n != nil {
		schema, declared = dataOf(n.Written("output")).(map[string]any)
	}
	return schema, declared
}
