// Changes of nodes and edges.

package flowdiff

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/spec"
)

// isHuman reports whether a node asks a person. Callers answer by the node's id.
func isHuman(n *spec.Node) bool { return n != nil && n.Kind.Value == "human" }

func waitsForPerson(n *spec.Node) bool { return isHuman(n) && n.Field("default") == nil }

func (c *comparison) compareNode(old, now *spec.Node) {
	switch {
	case now == nil:
		c.addChange("node", "removed", old.ID.Value, "kind "+old.Kind.Value, false, old.ID.Span)
	case old == nil:
		c.addChange("node", "added", now.ID.Value, "kind "+now.Kind.Value, false, now.ID.Span)
	default:
		c.compareKeys(old, now)
	}
	switch {
	case waitsForPerson(now) && !waitsForPerson(old):
		c.addChange("question", "added", now.ID.Value, "a run may pause for it", true, now.ID.Span)
	case isHuman(old) && !isHuman(now):
		c.addChange("question", "removed", old.ID.Value, "answers to it are refused", true, old.ID.Span)
	case isHuman(old):
		c.compareAnswers(old, now)
	}
}

func (c *comparison) compareKeys(old, now *spec.Node) {
	change := func(detail string) { c.addChange("node", "changed", now.ID.Value, detail, false, now.ID.Span) }
	keys := append(old.Keys(), now.Keys()...)
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		was, is := readData(old.ValueOf(key)), readData(now.ValueOf(key))
		switch {
		case strings.HasPrefix(key, "x-") || reflect.DeepEqual(was, is):
		case was == absent{}:
			change(key + " is new: " + formatData(is))
		default:
			change(describeDifference(key, was, is))
		}
	}
	// Later values of a set node see earlier ones.
	a, b := listSharedAssignments(old, now), listSharedAssignments(now, old)
	if !slices.Equal(a, b) {
		change("set writes " + strings.Join(b, ", ") + " in this order, it was " + strings.Join(a, ", ") + ": later ones see earlier ones")
	}
}

// listSharedAssignments returns the keys, in order, that a set node and its other version write.
func listSharedAssignments(n, other *spec.Node) (keys []string) {
	both := map[string]bool{}
	for _, f := range other.Field("set").Entries() {
		both[f.Key.Value] = true
	}
	for _, f := range n.Field("set").Entries() {
		if both[f.Key.Value] {
			keys = append(keys, f.Key.Value)
		}
	}
	return keys
}

// compareAnswers compares the legal answers of a question.
func (c *comparison) compareAnswers(before, after *spec.Node) {
	change := func(detail string) { c.addChange("question", "changed", after.ID.Value, detail, true, after.ID.Span) }
	was, _ := before.Field("choices").Data().([]any)
	is, _ := after.Field("choices").Data().([]any)
	if is != nil && was == nil {
		change("only some answers are legal now")
	}
	for _, choice := range was {
		if is != nil && !containsData(is, choice) {
			change("the answer " + formatData(choice) + " is no longer legal")
		}
	}
	a, _ := before.Field("schema").Data().(map[string]any)
	b, _ := after.Field("schema").Data().(map[string]any)
	for _, d := range compareSchemas(a, b, "") {
		if d.narrower {
			change("answer: " + d.text)
		}
	}
}

// edgePair is an edge in both versions.
type edgePair struct{ was, is *spec.Edge }

// edgeKey identifies an edge: by id, or else by nodes and condition.
type edgeKey struct{ id, from, to, condition, guard string }

func newEdgeKey(e *spec.Edge) edgeKey {
	if e.ID.IsSet() {
		return edgeKey{id: e.ID.Value}
	}
	return edgeKey{from: e.From.Value, to: e.To.Value, condition: e.Condition}
}

// compareEdges pairs edges with equal keys and guards, then those with equal keys.
func (c *comparison) compareEdges() {
	same, old, now := pairEdges(c.before.Edges, c.after.Edges, func(e *spec.Edge) edgeKey {
		key := newEdgeKey(e)
		key.guard = e.When.Value
		return key
	})
	changed, old, now := pairEdges(old, now, newEdgeKey)
	pairs := append(same, changed...)
	for _, p := range pairs {
		c.compareEdge(p.was, p.is)
	}
	addAll := func(change string, edges []*spec.Edge) {
		for _, e := range edges {
			detail := e.Condition
			if e.When.IsSet() {
				detail = "when " + e.When.Value
			}
			c.addChange("edge", change, formatEdge(e), detail, false, e.Span)
		}
	}
	addAll("removed", old)
	addAll("added", now)
	c.compareOrders(pairs)
}

// pairEdges pairs edges with equal keys in file order, and returns the other edges.
func pairEdges(old, now []*spec.Edge, key func(*spec.Edge) edgeKey) (pairs []edgePair, oldRest, nowRest []*spec.Edge) {
	waiting := map[edgeKey][]*spec.Edge{}
	for _, e := range now {
		waiting[key(e)] = append(waiting[key(e)], e)
	}
	for _, e := range old {
		if equal := waiting[key(e)]; len(equal) > 0 {
			pairs = append(pairs, edgePair{e, equal[0]})
			waiting[key(e)] = equal[1:]
		} else {
			oldRest = append(oldRest, e)
		}
	}
	for _, e := range now {
		if rest := waiting[key(e)]; len(rest) > 0 && rest[0] == e {
			nowRest = append(nowRest, e)
			waiting[key(e)] = rest[1:]
		}
	}
	return pairs, oldRest, nowRest
}

func formatEdge(e *spec.Edge) string { return e.From.Value + " → " + e.To.Value }

func (c *comparison) compareEdge(old, now *spec.Edge) {
	if old.When.Value != now.When.Value {
		c.addChange("guard", "changed", formatEdge(now), formatData(old.When.Value)+" is now "+formatData(now.When.Value), false, now.Span)
	}
	field := func(what string, was, is any) {
		if !reflect.DeepEqual(was, is) {
			c.addChange("edge", "changed", formatEdge(now), what+" "+formatData(was)+" is now "+formatData(is), false, now.Span)
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
	field("transform", old.Transform.Data(), now.Transform.Data())
}

// compareOrders compares the order of each node's edges. It decides which conditional edge fires,
// and in which order some reducers keep the writes of branches.
func (c *comparison) compareOrders(pairs []edgePair) {
	conditions, branches, reprioritized := map[string][]edgePair{}, map[string][]edgePair{}, map[string]bool{}
	for _, p := range pairs {
		switch from := p.is.From.Value; {
		case from != p.was.From.Value || p.was.Condition != p.is.Condition:
		case p.is.When.IsSet():
			conditions[from] = append(conditions[from], p)
			reprioritized[from] = reprioritized[from] || p.was.Priority != p.is.Priority
		case p.is.Condition == "on_success" || p.is.Condition == "always":
			branches[from] = append(branches[from], p)
		}
	}
	var keys []string // with reducers that keep the order of writes
	for _, k := range c.after.State {
		if !slices.Contains([]string{"", "replace", "sum", "min", "max"}, k.Reducer.Value) {
			keys = append(keys, k.Name.Value)
		}
	}
	change := func(e *spec.Edge, detail string) {
		c.addChange("edge", "changed", formatEdge(e), detail, false, e.Span)
	}
	for _, n := range c.after.Nodes {
		id := n.ID.Value
		if moved := findFirstMoved(conditions[id]); moved != nil && !reprioritized[id] {
			change(moved, "its condition is tried earlier: the first that holds fires")
		}
		if moved := findFirstMoved(branches[id]); moved != nil && len(keys) > 0 {
			change(moved, "its branch comes earlier: "+strings.Join(keys, ", ")+" keeps the order of what branches write")
		}
	}
}

// findFirstMoved returns the first edge that has moved ahead of another, or nil.
func findFirstMoved(pairs []edgePair) *spec.Edge {
	byOrder := func(a, b *spec.Edge) int { return cmp.Or(b.Priority-a.Priority, a.Index-b.Index) }
	before := slices.SortedFunc(slices.Values(pairs), func(a, b edgePair) int { return byOrder(a.was, b.was) })
	after := slices.SortedFunc(slices.Values(pairs), func(a, b edgePair) int { return byOrder(a.is, b.is) })
	for i := range before {
		if before[i] != after[i] {
			return after[i].is
		}
	}
	return nil
}
