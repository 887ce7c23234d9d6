// Keys with `once`: they return to their defaults after a model node has read them
// (GraphSpec §3).

package machine

import (
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/bind"
)

// onceKeys returns the `once` keys that a model node's own expressions read.
func (b *builder) onceKeys(bound *bind.Node) []int {
	var out []int
	p := b.plan
	visitReads(func(r eval.Read) {
		path := r.Path
		if len(path) > 1 && path[0] == "state" {
			path = path[1:]
		}
		for i := range p.keys {
			isRead := len(path) == 0 || path[0] == "state" || path[0] == p.keys[i].name
			if isRead && p.keys[i].decl.Once && !slices.Contains(out, i) {
				out = append(out, i)
			}
		}
	}, [][]bind.Field{bound.Config, bound.Before}, bound.Each)
	slices.Sort(out)
	return out
}

// resetOnce resets the `once` keys that a model node has read, before the step's own writes.
func (t *Task) resetOnce(v *View) {
	if t.Failure != nil || t.Skipped {
		return
	}
	p := t.scope.plan
	var back []Write
	for _, key := range p.nodes[t.Node].talk.once {
		if p.initial[key] == absent {
			back = append(back, Write{Key: key, Absent: true})
		} else if v.Vals[key] != nil {
			back = append(back, Write{Key: key, Update: p.initial[key], Reset: true})
		}
	}
	if len(back) > 0 {
		t.Writes = append(back, t.Writes...)
	}
}
