// Keys that are read once: back to their defaults after the model node that
// read them (GraphSpec §3).

package machine

import (
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/bind"
)

// onceKeys are the keys declared `once` that a model node's own expressions read.
func (b *builder) onceKeys(bound *bind.Node) []int {
	var out []int
	take := func(i int) {
		if b.plan.keys[i].decl.Once && !slices.Contains(out, i) {
			out = append(out, i)
		}
	}
	read := func(r eval.Read) {
		path := r.Path
		if len(path) > 1 && path[0] == "state" {
			path = path[1:]
		}
		if len(path) == 0 || path[0] == "state" {
			for i := range b.plan.keys {
				take(i)
			}
		} else if i, ok := b.plan.keyOf[path[0]]; ok {
			take(i)
		}
	}
	for _, fields := range [][]bind.Field{bound.Config, bound.Before} {
		for i := range fields {
			fields[i].Value.Reads(read)
		}
	}
	if bound.Each != nil {
		for _, r := range bound.Each.Reads() {
			read(r)
		}
	}
	slices.Sort(out)
	return out
}

// forget puts the keys that the superstep's model nodes have read back to their
// defaults, before the writes of the superstep: what is written now is there to
// be read next.
func (p *Plan) forget(s *State) {
	for i := range s.tasks {
		t := &s.tasks[i]
		if t.status != succeeded || t.skipped {
			continue
		}
		for _, key := range p.nodes[t.node].talk.once {
			name := p.keys[key].name
			value, has := p.initial[name]
			s.resize(key, p.sizes[key])
			if has {
				s.env[name] = value
			} else {
				delete(s.env, name)
				value = p.idle[name]
			}
			if s.Watched {
				s.changes = append(s.changes, KeyValue{name, value})
			}
		}
	}
}
