// Package flowdiff compares two versions of a graph and finds changes that break callers: those
// who run it, embed it or answer its questions.
package flowdiff

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/spec"
)

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

// kinds are the kinds of changes in print order.
var kinds = []string{"input", "output", "secret", "question", "start", "node", "edge", "guard", "limit", "setting", "graph"}

// Compare lists the changes between two versions: breaking ones first, then by kind and name.
func Compare(before, after *spec.Graph) []Change {
	c := &comparison{before: before, after: after}
	pairByName(before.State, after.State, func(k *spec.StateKey) string { return k.Name.Value }, c.compareInput)
	c.compareOutput()
	c.compareOutputTypes()
	pairByName(toPointers(before.Secrets), toPointers(after.Secrets), func(s *spec.Secret) string { return s.Name.Value }, c.compareSecret)
	c.compareSettings()
	pairByName(before.Nodes, after.Nodes, func(n *spec.Node) string { return n.ID.Value }, c.compareNode)
	c.compareEdges()
	pairByName(before.Graphs, after.Graphs, (*spec.Graph).Ref, c.compareGraph)
	order := func(c Change) int {
		n := slices.Index(kinds, c.Kind)
		if !c.Breaking {
			n += len(kinds)
		}
		return n
	}
	slices.SortStableFunc(c.found, func(a, b Change) int {
		return cmp.Or(cmp.Compare(order(a), order(b)), cmp.Compare(a.Name, b.Name))
	})
	return c.found
}

// comparison collects the changes between two versions.
type comparison struct {
	before, after *spec.Graph
	found         []Change
}

// pairByName calls compare for each name of two lists. An item that one list lacks is nil.
func pairByName[T any](before, after []*T, name func(*T) string, compare func(old, now *T)) {
	rest := map[string]*T{}
	for _, item := range after {
		rest[name(item)] = item
	}
	for _, item := range before {
		compare(item, rest[name(item)])
		delete(rest, name(item))
	}
	for _, item := range after {
		if rest[name(item)] == item {
			compare(nil, item)
		}
	}
}

func toPointers[T any](list []T) []*T {
	out := make([]*T, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}

// addChange adds a change at a span: in the old file if it is removed. No span has line 0.
func (c *comparison) addChange(kind, change, name, detail string, breaking bool, at spec.Span) {
	file, line := c.after.File, 0
	if change == "removed" {
		file = c.before.File
	}
	if at != (spec.Span{}) {
		line = file.Position(at.From).Line
	}
	c.found = append(c.found, Change{kind, change, name, detail, breaking, line})
}

// compareInput compares a state key, which callers may set.
func (c *comparison) compareInput(old, now *spec.StateKey) {
	switch {
	case now == nil:
		c.addChange("input", "removed", old.Name.Value, "", true, old.Name.Span)
		return
	case old == nil:
		c.addChange("input", "added", now.Name.Value, map[bool]string{true: "required"}[now.Required], now.Required, now.Name.Span)
		return
	}
	change := func(detail string, breaking bool) {
		c.addChange("input", "changed", now.Name.Value, detail, breaking, now.Name.Span)
	}
	if old.Required != now.Required {
		change(map[bool]string{true: "is now required", false: "is no longer required"}[now.Required], now.Required)
	}
	for _, d := range compareSchemas(old.Schema, now.Schema, "") {
		change(d.text, d.narrower)
	}
	if a, b := formatDefault(old), formatDefault(now); a != b {
		change("default "+a+" is now "+b, false)
	}
	if a, b := cmp.Or(old.Reducer.Value, "replace"), cmp.Or(now.Reducer.Value, "replace"); a != b {
		change("reducer "+a+" is now "+b, false)
	}
	if old.Secret != now.Secret {
		change(map[bool]string{true: "is now secret, so results hide it", false: "is no longer secret"}[now.Secret], now.Secret)
	}
}

func formatDefault(k *spec.StateKey) string {
	if k.Default == nil {
		return "none"
	}
	return formatData(k.Default.Data())
}

func (c *comparison) compareSecret(old, now *spec.Secret) {
	source := func(s *spec.Secret) string {
		switch {
		case s.Env.IsSet():
			return "variable " + s.Env.Value
		case len(s.Command) > 0:
			return "the output of " + strings.Join(spec.Strings(s.Command), " ")
		}
		return "file " + s.File.Value
	}
	switch {
	case now == nil:
		c.addChange("secret", "removed", old.Name.Value, "", false, spec.Span{})
	case old == nil:
		c.addChange("secret", "added", now.Name.Value, "from "+source(now), true, now.Name.Span)
	case source(old) != source(now):
		c.addChange("secret", "changed", now.Name.Value, source(old)+" is now "+source(now), true, now.Name.Span)
	}
}

// compareSettings compares the rest of the top level and the limits, key by key.
func (c *comparison) compareSettings() {
	compare := func(kind string, before, after map[string]any) {
		for _, key := range mergeKeys(before, after) {
			kind := kind
			if key == "start" {
				kind = key
			}
			switch old, now := lookUp(before, key), lookUp(after, key); {
			case slices.Contains([]string{"graphrun", "output", "secrets", "limits"}, key) || strings.HasPrefix(key, "x-") || reflect.DeepEqual(old, now):
			case key == "strict_state" && c.after.StrictState:
				c.addChange(kind, "changed", key, "undeclared inputs are refused now", true, spec.Span{})
			case now == absent{}:
				c.addChange(kind, "removed", key, "was "+formatData(old), false, spec.Span{})
			case old == absent{}:
				c.addChange(kind, "added", key, formatData(now), false, spec.Span{})
			default:
				c.addChange(kind, "changed", key, formatData(old)+" is now "+formatData(now), false, spec.Span{})
			}
		}
	}
	before, after := c.before.Settings(), c.after.Settings()
	compare("setting", before, after)
	old, _ := before["limits"].(map[string]any)
	now, _ := after["limits"].(map[string]any)
	compare("limit", old, now)
}

// compareGraph compares a graph of the file's graphs. Callers of the file see its questions.
func (c *comparison) compareGraph(old, now *spec.Graph) {
	switch {
	case now == nil:
		c.addChange("graph", "removed", old.Ref(), "", false, old.Entry.Span)
	case old == nil:
		c.addChange("graph", "added", now.Ref(), "", false, now.Entry.Span)
	default:
		for _, change := range Compare(old, now) {
			change.Breaking = change.Breaking && change.Kind == "question"
			change.Name = old.Ref() + "/" + change.Name
			c.found = append(c.found, change)
		}
	}
}

// absent is the value of a missing entry of a map in comparisons.
type absent struct{}

func lookUp(m map[string]any, key string) any {
	if v, ok := m[key]; ok {
		return v
	}
	return absent{}
}

func mergeKeys[V any](a, b map[string]V) []string {
	all := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(all)
	return slices.Compact(all)
}

// readData returns a value as plain data, or absent.
func readData(v *spec.Value) any {
	if v == nil {
		return absent{}
	}
	return v.Data()
}

// formatData formats plain data in one line and shortens it.
func formatData(v any) string {
	const most = 60
	out, err := eval.AppendJSON(nil, v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return terminal.Truncate(string(out), most+1)
}
