// The columns of a trace, as wide as the longest step number and node name of the graph.

package runview

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

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

// columnsOf returns the widths for the nodes of a graph and its subgraphs.
func columnsOf(g *spec.Graph) columns {
	var c columns
	again := onCycle(g)
	for i, n := range g.Nodes {
		width := terminal.Width(n.ID.Value)
		switch {
		case again[i] && n.MaxVisits > 0:
			width += len(" #") + digits(n.MaxVisits)
		case again[i]:
			c.unlimited = max(c.unlimited, width)
		}
		c.node = max(c.node, width)
	}
	if slices.ContainsFunc(g.Nodes, func(n *spec.Node) bool { return n.Kind.Value == "graph" }) {
		c.addSubgraphs(g, "", inspect.NewOpener(g, spec.Beside(g.File.Name)).Open, nil)
	}
	c.steps(g.Limits.MaxSteps)
	return c
}

// addSubgraphs makes room for the nodes of subgraphs.
func (c *columns) addSubgraphs(g *spec.Graph, place string, open func(*spec.Graph, *spec.Node) *spec.Graph, within []*spec.Graph) {
	within = append(slices.Clip(within), g)
	for _, n := range g.Nodes {
		if n.Kind.Value != "graph" || len(place) > maxNodeColumn {
			continue
		}
		inner := open(g, n)
		if inner == nil || slices.Contains(within, inner) {
			continue
		}
		at := place + n.ID.Value
		if n.Each.IsSet() {
			at += "[0]"
		}
		again := onCycle(inner)
		for i, own := range inner.Nodes {
			width := terminal.Width(at + "/" + own.ID.Value)
			if most := own.MaxVisits; again[i] {
				if most == 0 {
					most = inner.Limits.MaxSteps
				}
				width += len(" #") + digits(most)
			}
			c.node = max(c.node, width)
		}
		c.number = max(c.number, digits(inner.Limits.MaxSteps)+len("[] "))
		c.addSubgraphs(inner, at+"/", open, within)
	}
}

func digits(n int) int { return min(len(strconv.Itoa(n)), maxDigits) }

// onCycle reports which nodes are on a cycle.
func onCycle(g *spec.Graph) []bool {
	place := map[string]int{}
	for i, n := range g.Nodes {
		place[n.ID.Value] = i
	}
	var from, to []int
	out := make([]bool, len(g.Nodes))
	add := func(a, b string) {
		i, known := place[a]
		j, alsoKnown := place[b]
		if known && alsoKnown {
			from, to = append(from, i), append(to, j)
			out[i] = out[i] || i == j
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
	of, count := graphalg.New(len(g.Nodes), from, to).SCC()
	size := make([]int, count)
	for _, component := range of {
		size[component]++
	}
	for i, component := range of {
		out[i] = out[i] || size[component] > 1
	}
	return out
}

// steps makes room for step numbers up to most.
func (c *columns) steps(most int) {
	c.number = max(c.number, digits(most)+len("[] "))
	if c.unlimited > 0 {
		c.node = max(c.node, c.unlimited+len(" #")+digits(most))
	}
	c.node = min(c.node, maxNodeColumn)
}

// start returns the start of a line: the step number (0 for none) and the node.
func (c *columns) start(colors Colors, step int, node string, visit int) string {
	node = visitName(node, visit)
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

// blank fills the columns of outcome and duration.
func (c *columns) blank() string { return strings.Repeat(" ", 17) }
