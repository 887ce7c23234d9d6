// Runs and test coverage, painted on drawings.

package render

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// Trail records which nodes and edges a run or tests reached. The zero value is a run before its start.
type Trail struct {
	// Nodes are the nodes that were reached, by id. Node adds one.
	Nodes map[string]*NodeTrail
	// Fired counts how often edges fired, by index.
	Fired map[int]int
	// Coverage says that the trail shows test coverage: visits and Fired are 1 or 0.
	Coverage bool
}

// NodeTrail records what happened to a node.
type NodeTrail struct {
	Visits, Failures int
	// Spent is the total time of all visits.
	Spent time.Duration
	// Error is the failure of the latest visit, or nil.
	Error *machine.Failure
	// Failed says that a failure of the node ended the run.
	Failed, Waiting, Running bool
	// Jumps counts how often the node's goto chose a target.
	Jumps map[string]int
	// Inner is the trail of the graph that the node runs, or nil.
	Inner *Trail
}

// NewTrail returns the trail of a run that has not started, with empty maps.
func NewTrail() *Trail { return &Trail{Nodes: map[string]*NodeTrail{}, Fired: map[int]int{}} }

// Node returns the record of a node and adds it if needed.
func (t *Trail) Node(id string) *NodeTrail {
	if t.Nodes[id] == nil {
		t.Nodes[id] = &NodeTrail{Jumps: map[string]int{}}
	}
	return t.Nodes[id]
}

// innerTrail returns the trail of the graph that a node runs, or nil if t is nil or shows coverage.
func (t *Trail) innerTrail(node string) *Trail {
	if t == nil || t.Coverage {
		return nil
	}
	if n := t.Nodes[node]; n != nil && n.Inner != nil {
		return n.Inner
	}
	return &Trail{}
}

func (t *Trail) paintDrawing(d *Drawing) {
	started, ended := 0, 0
	for _, n := range t.Nodes {
		started += n.Visits
	}
	for i := range d.Edges {
		e := &d.Edges[i]
		if t.Coverage && e.Index < 0 {
			continue // coverage records only edges of the graph
		}
		fired := t.countFired(e)
		e.Fired, e.Mark = &fired, t.chooseMark(fired)
		if e.To == spec.END {
			ended += fired
		}
		if fired > 1 {
			e.Text = strings.TrimSpace(e.Text + " " + formatCount(fired))
		}
	}
	d.startMark, d.endMark = t.chooseMark(started), t.chooseMark(ended)
	for i := range d.Nodes {
		t.paintNode(&d.Nodes[i])
	}
}

func (t *Trail) paintNode(n *Node) {
	seen := cmp.Or(t.Nodes[n.ID], &NodeTrail{})
	failed := seen.Failures
	n.Mark = t.chooseMark(seen.Visits)
	switch {
	case seen.Failed:
		n.Mark, failed = FailedHere, max(failed, 1)
	case failed > 0:
		n.Mark = Recovered
	}
	n.Notes = append(n.Notes, describeVisits(seen.Visits, failed)...)
	switch {
	case seen.Waiting:
		n.Mark = WaitingHere
	case seen.Running:
		n.Mark = RunningHere
	}
	if note := markStyles[n.Mark].note; note != "" {
		n.Notes = append(n.Notes, note)
	}
	status := "completed"
	switch {
	case t.Coverage:
		status = "covered"
	case seen.Error != nil:
		status = "failed"
	}
	status = cmp.Or(markStyles[n.Mark].status, status)
	spent := max(0, seen.Spent).Milliseconds()
	n.Status, n.Visits, n.DurationMS, n.Error = &status, &seen.Visits, &spent, seen.Error
}

func (t *Trail) countFired(e *Edge) int {
	from, to := cmp.Or(t.Nodes[e.From], &NodeTrail{}), cmp.Or(t.Nodes[e.To], &NodeTrail{})
	switch e.Condition {
	case "goto":
		return from.Jumps[e.To]
	case "finally":
		return min(from.Visits, to.Visits)
	}
	return t.Fired[e.Index]
}

// describeVisits returns a note about visits such as "×3, 2 failed", or nil.
func describeVisits(visits, failed int) []string {
	switch {
	case failed > 0 && visits < 2:
		return []string{"failed"}
	case visits < 2:
		return nil
	case failed == 0:
		return []string{formatCount(visits)}
	case visits == failed:
		return []string{formatCount(visits) + ", all failed"}
	}
	return []string{fmt.Sprintf("%s, %d failed", formatCount(visits), failed)}
}

func (t *Trail) chooseMark(n int) Mark {
	switch {
	case n > 0:
		return Touched
	case t.Coverage:
		return Missed
	}
	return Untouched
}

func formatCount(n int) string { return fmt.Sprintf("×%d", n) }

// sumByGraph returns the trails of the graphs of a file, summed over all nodes that ran them. A
// graph that is one of several tools has no trail, because a trail does not record which tool ran.
func (t *Trail) sumByGraph(file *spec.Graph) map[*spec.Graph]*Trail {
	out := map[*spec.Graph]*Trail{}
	if t == nil || t.Coverage { // coverage records one graph only
		return out
	}
	for _, g := range file.Graphs {
		out[g] = NewTrail()
	}
	t.addInnerTrails(file, out)
	for _, g := range append([]*spec.Graph{file}, file.Graphs...) {
		if tools := listGraphTools(g); len(tools) > 1 {
			for _, ref := range tools {
				delete(out, g.InnerGraph(ref))
			}
		}
	}
	return out
}

// addInnerTrails adds the trails of subgraphs to the sums of the graphs that they ran.
func (t *Trail) addInnerTrails(g *spec.Graph, sums map[*spec.Graph]*Trail) {
	for _, n := range g.Nodes {
		if own, inner := t.Nodes[n.ID.Value], g.InnerGraph(findGraphName(g, n)); own != nil && own.Inner != nil && sums[inner] != nil {
			sums[inner].addTrail(own.Inner)
			own.Inner.addInnerTrails(inner, sums)
		}
	}
}

// findGraphName returns the name of the graph that a node runs, or "" if unknown.
func findGraphName(g *spec.Graph, n *spec.Node) string {
	switch n.Kind.Value {
	case "graph":
		return n.Field("graph").Scalar().Value
	case "tool", "tools", "agent":
		if tools := listGraphTools(g); len(tools) == 1 {
			return tools[0]
		}
	}
	return ""
}

func listGraphTools(g *spec.Graph) []string {
	var out []string
	for i := range g.Tools {
		if ref := g.Tools[i].Value.Get("graph"); ref != nil {
			out = append(out, ref.Text.Value)
		}
	}
	return out
}

// addTrail adds the counts of another trail of the same graph, without its inner trails.
func (t *Trail) addTrail(more *Trail) {
	addCounts(t.Fired, more.Fired)
	for id, m := range more.Nodes {
		n := t.Node(id)
		n.Visits, n.Failures, n.Spent = n.Visits+m.Visits, n.Failures+m.Failures, n.Spent+m.Spent
		n.Error = cmp.Or(m.Error, n.Error)
		n.Failed, n.Waiting, n.Running = n.Failed || m.Failed, n.Waiting || m.Waiting, n.Running || m.Running
		addCounts(n.Jumps, m.Jumps)
	}
}

func addCounts[K comparable](into, more map[K]int) {
	for key, n := range more {
		into[key] += n
	}
}
