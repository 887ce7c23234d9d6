// What expressions read of the context: only that is kept up to date.

package machine

import (
	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/bind"
)

// usesOf is the set of context names that evaluating a value reads.
func (b *builder) usesOf(v *bind.Value) uses {
	var out uses
	v.Reads(func(r eval.Read) { out |= b.usesOfRead(r) })
	return out
}

func (b *builder) usesOfProgram(program *eval.Program) uses {
	var out uses
	for _, r := range program.Reads() {
		out |= b.usesOfRead(r)
	}
	return out
}

func (b *builder) usesOfRead(r eval.Read) uses {
	if len(r.Path) == 0 {
		b.all = true
		return ^uses(0)
	}
	for i := range contextNames {
		if contextNames[i].name != r.Path[0] {
			continue
		}
		switch contextNames[i].bit {
		case useVisits, useHistory, useNodes:
			b.watch(r)
		case useRun:
			return usesOfRun(r)
		}
		return contextNames[i].bit
	}
	if i, ok := b.plan.keyOf[r.Path[0]]; ok {
		b.used[i] = true
	}
	return 0
}

// usesOfRun is what a read of run, or of a member, uses.
func usesOfRun(r eval.Read) uses {
	switch {
	case len(r.Path) < 2:
		return useRun | useNow | useRunDir
	case r.Path[1] == "now":
		return useRun | useNow
	case r.Path[1] == "dir":
		return useRun | useRunDir
	}
	return useRun
}

// watch remembers the node that a read of visits, history or nodes names.
func (b *builder) watch(r eval.Read) {
	if len(r.Path) < 2 || b.plan.Graph.Node(r.Path[1]) == nil {
		b.all = true
		return
	}
	if b.watched == nil {
		b.watched = map[string]bool{}
	}
	b.watched[r.Path[1]] = true
}
