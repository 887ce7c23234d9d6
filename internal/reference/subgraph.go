// Subgraphs (§4): a run of its own, whose end is that of an attempt.

package reference

import "strconv"

// subgraph runs the graph of a graph node. Its attempts have the path of their node,
// outer/inner, outer[2]/inner in an element.
func (r *run) subgraph(t *task, u *unit) Outcome {
	at := t.node.ID.Value
	if u.element > 0 {
		at += "[" + strconv.Itoa(u.element-1) + "]"
	}
	u.inside = Run(r.graph.Inner(t.node.Field("graph").Value), func(a Attempt) Outcome {
		a.Node = at + "/" + a.Node
		return r.script(a)
	})
	in := &u.inside
	r.result.Inside += in.Steps + in.Inside
	r.result.AtOnce = r.result.AtOnce || in.AtOnce || in.Took == 0
	o := Outcome{Takes: in.Took, Fails: "child_failed"}
	if in.Status == "completed" {
		o.Fails = ""
		o.Output = map[string]any{"output": in.Output, "state": in.State, "status": in.Status, "quality": in.Quality}
	}
	return o
}
