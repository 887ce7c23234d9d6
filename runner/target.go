// Names of questions that are cut short.

package runner

import (
	"maps"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/spec"
)

// wholeTargets are answers by the whole names of their questions.
func (f *Flow) wholeTargets(answers map[string][]string) map[string][]string {
	out := make(map[string][]string, len(answers))
	for _, target := range slices.Sorted(maps.Keys(answers)) {
		whole := f.wholeTarget(target)
		out[whole] = slices.Concat(out[whole], answers[target])
	}
	return out
}

// wholeTarget completes the names of nodes in a target: the beginning of a name will
// do where only one node that can be meant has it. What names no node stays as it is.
func (f *Flow) wholeTarget(target string) string {
	path, key, hasKey := strings.Cut(target, ":")
	parts := strings.Split(path, "/")
	for i, part := range parts {
		id, index, hasIndex := strings.Cut(part, "[")
		if f.graph.Node(id) == nil {
			if id = f.beginning(id, i == len(parts)-1, hasKey); id == "" {
				return target
			}
		}
		if parts[i] = id; hasIndex {
			parts[i] += "[" + index
		}
		if i == len(parts)-1 {
			break
		}
		if f = f.inside(id, parts[i+1]); f == nil {
			return target
		}
	}
	if path = strings.Join(parts, "/"); hasKey {
		return path + ":" + key
	}
	return path
}

// beginning finds the only node whose id begins so that can be meant: as the last of
// a path one that asks people, a program where the question has a key, and before it
// one that may run a graph.
func (f *Flow) beginning(id string, last, hasKey bool) string {
	found := ""
	for _, n := range f.graph.Nodes {
		if id == "" || !strings.HasPrefix(n.ID.Value, id) || !f.asks(n, last, hasKey) {
			continue
		}
		if found != "" {
			return ""
		}
		found = n.ID.Value
	}
	return found
}

func (f *Flow) asks(n *spec.Node, last, hasKey bool) bool {
	kind := n.Kind.Value
	switch {
	case !last:
		return kind == graphKind || len(f.tools) > 0 && !slices.Contains(machineKinds(), kind)
	case hasKey:
		return kind != graphKind && !slices.Contains(machineKinds(), kind)
	}
	return kind == "human"
}
