// Coverage in LCOV format, for tools that show covered lines.

package flowtest

import (
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
)

// WriteLCOV writes the coverage of each flow: nodes and edges by their first line, a
// condition as two branches.
func WriteLCOV(w io.Writer, r *Report) error {
	out := ""
	for _, flow := range slices.Sorted(maps.Keys(r.Coverage)) {
		out += r.Coverage[flow].lcov(flow)
	}
	_, err := io.WriteString(w, out)
	return err
}

func (c *Coverage) lcov(flow string) string {
	path, err := filepath.Abs(flow)
	if err != nil {
		path = flow
	}
	g, lines := c.graph, map[int]int{}
	at := func(offset, hits int) int {
		line := g.File.Position(offset).Line
		lines[line] = max(lines[line], hits)
		return line
	}
	out := fmt.Sprintf("TN:\nSF:%s\n", path)
	for i, n := range g.Nodes {
		line := at(n.ID.Span.From, c.hits.nodes[i])
		out += fmt.Sprintf("FN:%d,%s\nFNDA:%d,%s\n", line, n.ID.Value, c.hits.nodes[i], n.ID.Value)
	}
	branches, reached := 0, 0
	for i, e := range g.Edges {
		line := at(e.Span.From, c.hits.fired[i])
		if !e.When.IsSet() {
			continue
		}
		for branch, n := range []int{c.hits.held[i], c.hits.lost[i]} {
			out += fmt.Sprintf("BRDA:%d,%d,%d,%d\n", line, i, branch, n)
			branches++
			reached += min(n, 1)
		}
	}
	out += fmt.Sprintf("FNF:%d\nFNH:%d\nBRF:%d\nBRH:%d\n", c.Nodes.Total, c.Nodes.Covered, branches, reached)
	covered := 0
	for _, line := range slices.Sorted(maps.Keys(lines)) {
		out += fmt.Sprintf("DA:%d,%d\n", line, lines[line])
		covered += min(lines[line], 1)
	}
	return out + fmt.Sprintf("LF:%d\nLH:%d\nend_of_record\n", len(lines), covered)
}
