// The barrier of a join, in memory and in snapshots.

package machine

import (
	"cmp"
	"slices"
)

// joinKind says how many branches a join waits for. The zero value is no join.
type joinKind int

const (
	joinAll joinKind = iota + 1
	joinAny
	joinCount
)

// onBypass says what an `all` join does that a failure has bypassed. The zero
// value is that of an implicit join: it drops.
type onBypass int

const (
	bypassDrops onBypass = iota + 1
	bypassContinues
	bypassFails
)

// barrier collects the branches that have arrived at a join, and those that left
// the way to it by a failure edge. An implicit join has one for each fan-out, an
// explicit one serves all.
type barrier struct {
	node     int
	fan      *fanout // of an implicit join
	arrivals []arrival
	detours  []detour
}

// arrival is a token that waits at a join. One with over stands for a fan-out all
// of whose branches failed, under wait_all: it brings their errors and no input.
type arrival struct {
	at     place
	source int
	input  any
	output any
	thread *thread
	over   *fanout
}

// detour is a branch that a failure edge led away from a node from which it would
// have come to a join. The branch may come back; else it bypasses the join.
type detour struct {
	node int // that failed
	// places are where what has become of the branch stands: its own, and those
	// that its tokens moved to where branches met.
	places []place
	// passed are the joins before this one that did not go on because of it.
	passed []int
}

// has reports whether a token at that place is what the branch has become.
func (d *detour) has(at place) bool {
	return slices.ContainsFunc(d.places, func(branch place) bool { return branch.fan == nil || at.on(branch) })
}

func compareBarriers(a, b barrier) int {
	return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.fan.number(), b.fan.number()))
}

func (f *fanout) number() int {
	if f == nil {
		return 0
	}
	return f.id
}

// fans are the fan-outs, innermost ones, whose branches came to the join or left
// the way to it.
func (b *barrier) fans() []*fanout {
	var fans []*fanout
	b.eachPlace(func(at place) {
		if at.fan != nil && !slices.Contains(fans, at.fan) {
			fans = append(fans, at.fan)
		}
	})
	return fans
}

// allFans are these fan-outs and those around them.
func (b *barrier) allFans() []*fanout {
	fans := b.fans()
	for i := 0; i < len(fans); i++ {
		if around := fans[i].at.fan; around != nil && !slices.Contains(fans, around) {
			fans = append(fans, around)
		}
	}
	return fans
}

func (b *barrier) eachPlace(add func(place)) {
	for _, a := range b.arrivals {
		add(a.at)
	}
	for _, d := range b.detours {
		for _, at := range d.places {
			add(at)
		}
	}
}

type savedBarrier struct {
	Node     int            `json:"node"`
	Fan      int            `json:"fan,omitempty"`
	Arrivals []savedArrival `json:"arrivals"`
	Detours  []savedDetour  `json:"detours,omitempty"`
}

type savedDetour struct {
	Node   int          `json:"node"`
	Places []savedPlace `json:"places"`
	Passed []int        `json:"passed,omitempty"`
}

type savedArrival struct {
	At     savedPlace `json:"at,omitzero"`
	Source int        `json:"source"`
	Input  any        `json:"input,omitempty"`
	Output any        `json:"output,omitempty"`
	Thread int        `json:"thread,omitempty"`
	Over   int        `json:"over,omitempty"`
}

func (k *saver) barrier(b *barrier) savedBarrier {
	out := savedBarrier{Node: b.node, Fan: k.fan(b.fan)}
	for _, a := range b.arrivals {
		out.Arrivals = append(out.Arrivals, savedArrival{k.place(a.at), a.source, k.pack(a.input), k.pack(a.output), k.thread(a.thread), k.fan(a.over)})
	}
	for _, d := range b.detours {
		saved := savedDetour{Node: d.node, Passed: d.passed}
		for _, at := range d.places {
			saved.Places = append(saved.Places, k.place(at))
		}
		out.Detours = append(out.Detours, saved)
	}
	return out
}

func (r *restorer) barrier(in *savedBarrier) barrier {
	out := barrier{node: in.Node, fan: r.fan(in.Fan)}
	for i := range in.Arrivals {
		a := &in.Arrivals[i]
		out.arrivals = append(out.arrivals, arrival{r.place(a.At), a.Source, r.unpack(a.Input), r.unpack(a.Output), r.thread(a.Thread), r.fan(a.Over)})
	}
	for _, in := range in.Detours {
		if !r.within("node", in.Node, len(r.plan.nodes)) || len(in.Places) == 0 {
			continue
		}
		d := detour{node: in.Node, passed: in.Passed}
		for _, at := range in.Places {
			d.places = append(d.places, r.place(at))
		}
		out.detours = append(out.detours, d)
	}
	return out
}
