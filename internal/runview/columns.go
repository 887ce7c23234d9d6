// The columns of a trace, as wide as the longest step number and node name of the graph.

package runview

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/graphrun/graphrun/internal/graphalg"
	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/spec"
)

const (
	maxNodeColumn = 32
	maxDigits     = 4 // digits of steps and visits that columns have room for
)

// columns are the widths of the first two columns. They grow if something does not fit.
type columns struct {
	number, node int
	// unlimited is the longest name of a node on a cycle without max_visits, or 0.
	unlimited int
}

// measureColumns returns the widths for the nodes of a graph and its subgraphs.
func measureColumns(g *spec.Graph) columns {
	var c columns
	cyclic := map[*spec.Graph]map[string]bool{}
	inspect.NewOpener(g, spec.Beside(g.File.Name)).Walk(g, func(g *spec.Graph, path []*spec.Node) bool {
		if cyclic[g] == nil {
			cyclic[g] = findCyclicNodes(g)
			c.number = max(c.number, countDigits(g.Limits.MaxSteps)+len("[] "))
		}
		place, n := "", path[len(path)-1]
		for _, around := range path[:len(path)-1] {
			element := ""
			if around.Each.IsSet() {
				element = "[0]"
			}
			place += around.ID.Value + element + "/"
		}
		width := terminal.Width(place + n.ID.Value)
		if cyclic[g][n.ID.Value] {
			if n.MaxVisits == 0 && place == "" {
				c.unlimited = max(c.unlimited, width)
			}
			width += len(" #") + countDigits(cmp.Or(n.MaxVisits, g.Limits.MaxSteps))
		}
		c.node = min(max(c.node, width), maxNodeColumn)
		return len(place) <= maxNodeColumn
	})
	return c
}

func countDigits(n int) int { return min(len(strconv.Itoa(n)), maxDigits) }

func findCyclicNodes(g *spec.Graph) map[string]bool {
	var from, to []int
	add := func(a, b string) {
		if m, n := g.Node(a), g.Node(b); m != nil && n != nil {
			from, to = append(from, m.Index), append(to, n.Index)
		}
	}
	for _, e := range g.Edges {
		add(e.From.Value, e.To.Value)
	}
	for _, n := range g.Nodes {
		for _, end := range n.Ends {
			add(n.ID.Value, end.Target.Value)
		}
	}
	component, _ := graphalg.New(len(g.Nodes), from, to).SCC()
	out := map[string]bool{}
	for i := range from { // an edge within a component is on a cycle
		if component[from[i]] == component[to[i]] {
			out[g.Nodes[from[i]].ID.Value] = true
		}
	}
	return out
}

// addSteps makes room for step numbers, and so for numbers of visits, up to most.
func (c *columns) addSteps(most int) {
	c.number = max(c.number, countDigits(most)+len("[] "))
	if c.unlimited > 0 {
		c.node = min(max(c.node, c.unlimited+len(" #")+countDigits(most)), maxNodeColumn)
	}
}

// formatStart returns the start of a line: the step number (0 for none) and the node.
func (c *columns) formatStart(colors terminal.Colors, step int, node string, visit int) string {
	node = formatVisit(node, visit)
	number := ""
	if step > 0 {
		number = fmt.Sprintf("[%d] ", step)
	}
	c.number = max(c.number, len(number))
	c.node = max(c.node, min(terminal.Width(node), maxNodeColumn))
	return colors.Quiet(terminal.Pad(number, c.number)) + colors.Strong(terminal.Pad(node, c.node)) + "  "
}

// indent returns the column at which the text of a line starts.
func (c *columns) indent() int { return c.number + c.node + len("  ") }
