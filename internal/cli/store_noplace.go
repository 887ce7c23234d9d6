// Runs that can't be kept because there is no folder for them: no HOME, as under
// cron, in a container, or in a service.

package cli

import (
	"fmt"
	"strings"

	"github.com/graphrun/graphrun/spec"
)

// noPlace is why there is no store although nobody asked for none.
const noPlace = "none of $XDG_STATE_HOME, $STATE_DIRECTORY and $HOME names a folder; --store names a file, or memory"

// checkPlace refuses a run that needs a store when there is no place for one, and
// says of any other that it is not kept.
func (a *app) checkPlace(g *spec.Graph, f *runFlags) error {
	if a.onCluster() {
		return nil
	}
	if a.store.path != "" || a.StateDir != "" {
		return nil
	}
	if needs := needsStore(g, f); len(needs) > 0 {
		return usagef("the run can't be kept, and %s needs that: %s", strings.Join(needs, ", "), noPlace)
	}
	fmt.Fprintln(a.Stderr, "graphrun: the run is not kept: "+noPlace)
	return nil
}

// needsStore lists what of a run makes no sense in memory: what others name it by, and
// nodes that may wait for longer than the process lives.
func needsStore(g *spec.Graph, f *runFlags) []string {
	var out []string
	if f.runID != "" {
		out = append(out, "--run-id")
	}
	if f.parks {
		out = append(out, "--park")
	}
	for _, graph := range append([]*spec.Graph{g}, g.Graphs...) {
		for _, n := range graph.Nodes {
			if kind := n.Kind.Value; kind == "human" || kind == "wait" {
				return append(out, fmt.Sprintf("the %s node %q", kind, n.ID.Value))
			}
		}
	}
	return out
}
