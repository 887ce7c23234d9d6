// Results of tests as text.

package runview

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"

	"github.com/graphrun/graphrun/flowtest"
	"github.com/graphrun/graphrun/internal/terminal"
)

// FormatTests formats test results: a line per file, failing cases in full, then the coverage of
// each flow. verbose shows every case and everything that was not reached.
func FormatTests(r *flowtest.Report, verbose bool, c terminal.Colors) string {
	var b strings.Builder
	for i := 0; i < len(r.Results); {
		j, failed := i, 0
		for j < len(r.Results) && r.Results[j].File == r.Results[i].File {
			if !r.Results[j].Passed {
				failed++
			}
			j++
		}
		head, tail := c.Good("ok  "), eval.Count(j-i, "case")
		if failed > 0 {
			head, tail = c.Bad("FAIL"), fmt.Sprintf("%d of %s failed", failed, tail)
		}
		fmt.Fprintf(&b, "%s  %s  %s\n", head, r.Results[i].File, c.Quiet(tail))
		for ; i < j; i++ {
			if result := &r.Results[i]; !result.Passed {
				b.WriteString("  " + strings.ReplaceAll(strings.TrimRight(result.Text(), "\n"), "\n", "\n  ") + "\n")
			} else if verbose {
				fmt.Fprintf(&b, "  ok    %s  %s\n", result.Case, c.Quiet(strings.Join(result.Path, " → ")))
			}
		}
	}
	for _, flow := range slices.Sorted(maps.Keys(r.Coverage)) {
		writeCoverage(&b, flow, r.Coverage[flow], verbose)
	}
	return b.String()
}

// writeCoverage prints the coverage of a flow.
func writeCoverage(b *strings.Builder, flow string, c *flowtest.Coverage, all bool) {
	fmt.Fprintf(b, "%s: nodes %d/%d, edges %d/%d, conditions %d/%d, failures %d/%d, loops %d/%d\n", flow,
		c.Nodes.Covered, c.Nodes.Total, c.Edges.Covered, c.Edges.Total, c.Guards.Covered, c.Guards.Total,
		c.Failures.Covered, c.Failures.Total, c.Loops.Covered, c.Loops.Total)
	list := func(what string, names []string) {
		const most = 6
		if more := len(names) - most; more > 0 && !all {
			names = append(names[:most:most], fmt.Sprintf("%d more", more))
		}
		if len(names) > 0 {
			fmt.Fprintf(b, "  no case reaches %s: %s\n", what, strings.Join(names, ", "))
		}
	}
	list("the nodes", c.Nodes.Missing)
	list("the edges", c.Edges.Missing)
	if !all {
		return
	}
	var conditions, loops []string
	for _, g := range c.Guards.Missing {
		conditions = append(conditions, fmt.Sprintf("%s %t", g.Edge, g.Value))
	}
	for _, l := range c.Loops.Missing {
		loops = append(loops, l.Edge+" "+map[string]string{"0": "never", "1": "once", "many": "again and again"}[l.Taken])
	}
	list("the conditions", conditions)
	list("the loops", loops)
}
