// Changes of nodes and edges.

package flowdiff

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/spec"
)

// nodes compares the nodes by id. Callers answer questions by the node's id.
func (c *comparison) nodes() {
	for _, old := range c.before.Graph.Nodes {
		id := old.ID.Value
		if now := c.after.Graph.Node(id); now != nil {
			c.node(old, now)
			continue
		}
		line := c.before.lineOf(old.ID.Span)
		c.add("node", "removed", id, "kind "+old.Kind.Value, false, line)
		if old.Kind.Value == "human" {
			c.add("question", "removed", id, "answers to it are refused", true, line)
		}
	}
	for _, now := range c.after.Graph.Nodes {
		if c.before.Graph.Node(now.ID.Value) != nil {
			continue
		}
		line := c.after.lineOf(now.ID.Span)
		c.add("node", "added", now.ID.Value, "kind "+now.Kind.Value, false, line)
		if asks(now) {
			c.add("question", "added", now.ID.Value, "a run may pause for it", true, line)
		}
	}
}

// asks reports whether a node waits for a person without a default.
func asks(n *spec.Node) bool { return n.Kind.Value == "human" && n.Field("default") == nil }

func (c *comparison) node(old, now *spec.Node) {
	id := now.ID.Value
	line := c.after.lineOf(now.ID.Span)
	for _, key := range keysOfBoth(old, now) {
		was, has := dataOf(old.Written(key)), dataOf(now.Written(key))
		if strings.HasPrefix(key, "x-") || reflect.DeepEqual(was, has) {
			continue
		}
		detail := key + " " + text(was) + " is now " + text(has)
		switch {
		case has == nil:
			detail = key + " is gone, it was " + text(was)
		case was == nil:
			detail = key + " is new: " + text(has)
		}
		c.add("node", "changed", id, detail, false, line)
	}
	c.compareAssignments(old, now)
	switch {
	case asks(now) && !asks(old):
		c.add("question", "added", id, "a run may pause for it", true, line)
	case old.Kind.Value == "human" && now.Kind.Value != "human":
		c.add("question", "removed", id, "answers to it are refused", true, line)
	case old.Kind.Value == "human":
		c.answers(old, now, line)
	}
}

// answers compares the legal answers.
func (c *comparison) answers(before, after *spec.Node, line int) {
	id := after.ID.Value
	was, _ := dataOf(before.Field("choices")).([]any)
	is, _ := dataOf(after.Field("choices")).([]any)
	if is != nil && was == nil {
		c.add("question", "changed", id, "only some answers are legal now", true, line)
	}
	for _, choice := range was {
		if is != nil && !containsData(is, choice) {
			c.add("question", "changed", id, "the answer "+text(choice)+" is no longer legal", true, line)
		}
	}
	a, _ := dataOf(before.Field("schema")).(map[string]any)
	b, _ := dataOf(after.Field("schema")).(map[string]any)
	for _, d := range schemaChanges(a, b, "") {
		if d.narrower {
			c.add("question", "changed", id, "answer: "+d.text, true, line)
		}
	}
}

// keysOfBoth returns the keys of two nodes, sorted.
func keysOfBoth(a, b *spec.Node) []string {
	all := append(a.Keys(), b.Keys()...)
	slices.Sort(all)
	return slices.Compact(all)
}

// edges compares edges by id, or else by nodes, condition and order.
func (c *comparison) edges() {
	type key struct{ id, from, to, condition string }
	group := func(g *spec.Graph) (map[key][]*spec.Edge, []key) {
		out := map[key][]*spec.Edge{}
		var keys []key
		for _, e := range g.Edges {
			k := key{"", e.From.Value, e.To.Value, e.Condition}
			if e.ID.IsSet() {
				k = key{id: e.ID.Value}
			}
			if out[k] == nil {
				keys = append(keys, k)
			}
			out[k] = append(out[k], e)
		}
		return out, keys
	}
	before, keys := group(c.before.Graph)
	after, more := group(c.after.Graph)
	for _, k := range more {
		if before[k] == nil {
			keys = append(keys, k)
		}
	}
	var both []paired
	for _, k := range keys {
		was, is := pairUp(before[k], after[k])
		for i := range max(len(was), len(is)) {
			switch {
			case i >= len(is):
				c.add("edge", "removed", edgeName(was[i]), edgeDetail(was[i]), false, c.before.lineOf(was[i].Span))
			case i >= len(was):
				c.add("edge", "added", edgeName(is[i]), edgeDetail(is[i]), false, c.after.lineOf(is[i].Span))
			default:
				c.edge(was[i], is[i])
				both = append(both, paired{was[i], is[i]})
			}
		}
	}
	c.compareOrders(both)
}

// pairUp aligns edges with equal guards and appends the others.
func pairUp(was, is []*spec.Edge) (a, b []*spec.Edge) {
	var restA, restB []*spec.Edge
	byGuard := map[string][]int{}
	for i, e := range is {
		byGuard[e.When.Value] = append(byGuard[e.When.Value], i)
	}
	used := make([]bool, len(is))
	for _, e := range was {
		equal := byGuard[e.When.Value]
		if len(equal) == 0 {
			restA = append(restA, e)
			continue
		}
		i := equal[0]
		byGuard[e.When.Value], used[i] = equal[1:], true
		a, b = append(a, e), append(b, is[i])
	}
	for i, e := range is {
		if !used[i] {
			restB = append(restB, e)
		}
	}
	return append(a, restA...), append(b, restB...)
}

func edgeName(e *spec.Edge) string { return e.From.Value + " → " + e.To.Value }

func edgeDetail(e *spec.Edge) string {
	if e.When.IsSet() {
		return "when " + e.When.Value
	}
	return e.Condition
}

func (c *comparison) edge(old, now *spec.Edge) {
	line := c.after.lineOf(now.Span)
	name := edgeName(now)
	if old.When.Value != now.When.Value {
		c.add("guard", "changed", name, text(old.When.Value)+" is now "+text(now.When.Value), false, line)
	}
	field := func(what string, was, is any) {
		if !reflect.DeepEqual(was, is) {
			c.add("edge", "changed", name, what+" "+text(was)+" is now "+text(is), false, line)
		}
	}
	if old.ID.IsSet() {
		field("from", old.From.Value, now.From.Value)
		field("to", old.To.Value, now.To.Value)
		field("condition", old.Condition, now.Condition)
	}
	field("label", old.Label.Value, now.Label.Value)
	field("description", old.Description.Value, now.Description.Value)
	field("priority", old.Priority, now.Priority)
	field("fallback", old.Fallback, now.Fallback)
	field("transform", dataOf(old.Transform), dataOf(now.Transform))
}

func dataOf(v *spec.Value) any {
	if v == nil {
		return nil
	}
	return v.Data()
}

// paired is an edge in both versions.
type paired struct{ was, is *spec.Edge }

// compareOrders compares the order of each node's edges. Of conditional edges the first true one
// fires; of branches, some reducers keep the order of writes.
func (c *comparison) compareOrders(pairs []paired) {
	leaving := map[string][]paired{}
	for _, p := range pairs {
		if from := p.is.From.Value; from == p.was.From.Value {
			leaving[from] = append(leaving[from], p)
		}
	}
	for _, n := range c.after.Graph.Nodes {
		var conditions, branches []paired
		sorted := true // priorities are unchanged
		for _, p := range leaving[n.ID.Value] {
			switch {
			case p.was.Condition != p.is.Condition:
			case p.is.When.IsSet():
				conditions = append(conditions, p)
				sorted = sorted && p.was.Priority == p.is.Priority
			case p.is.Condition == "on_success" || p.is.Condition == "always":
				branches = append(branches, p)
			}
		}
		if moved, ok := firstMoved(conditions); ok && sorted {
			c.add("edge", "changed", edgeName(moved.is), "its condition is tried earlier: the first that holds fires", false, c.after.lineOf(moved.is.Span))
		}
		keys := orderedKeys(c.after.Graph)
		if moved, ok := firstMoved(branches); ok && len(keys) > 0 {
			c.add("edge", "changed", edgeName(moved.is), "its branch comes earlier: "+strings.Join(keys, ", ")+" keeps the order of what branches write", false, c.after.lineOf(moved.is.Span))
		}
	}
}

// firstMoved returns the first edge that has moved ahead of another.
func firstMoved(pairs []paired) (moved paired, ok bool) {
	place := func(e *spec.Edge) [2]int { return [2]int{-e.Priority, e.Index} }
	before := slices.SortedFunc(slices.Values(pairs), func(a, b paired) int {
		x, y := place(a.was), place(b.was)
		return cmp.Or(x[0]-y[0], x[1]-y[1])
	})
	after := slices.SortedFunc(slices.Values(pairs), func(a, b paired) int {
		x, y := place(a.is), place(b.is)
		return cmp.Or(x[0]-y[0], x[1]-y[1])
	})
	for i := range before {
		if before[i] != after[i] {
			return after[i], true
		}
	}
	return paired{}, false
}

// orderedKeys returns the state keys whose reducers keep the order of writes.
func orderedKeys(g *spec.Graph) []string {
	var out []string
	for _, k := range g.State {
		if !slices.Contains([]string{"", "replace", "sum", "min", "max"}, k.Reducer.Value) {
			out = append(out, k.Name.Value)
		}
	}
	return out
}

// compareAssignments compares the order of a set node's values: later ones see earlier ones.
func (c *comparison) compareAssignments(old, now *spec.Node) {
	names := func(n *spec.Node, other *spec.Node) []string {
		set, in := n.Field("set"), other.Field("set")
		if set == nil || in == nil {
			return nil
		}
		both := map[string]bool{}
		for i := range in.Fields {
			both[in.Fields[i].Key.Value] = true
		}
		var out []string
		for i := range set.Fields {
			if name := set.Fields[i].Key.Value; both[name] {
				out = append(out, name)
			}
		}
		return out
	}
	a, b := names(old, now), names(now, old)
	if !slices.Equal(a, b) {
		c.add("node", "changed", now.ID.Value, "set writes "+strings.Join(b, ", ")+" in this order, it was "+strings.Join(a, ", ")+": later ones see earlier ones", false, c.after.lineOf(now.ID.Span))
	}
}
