// Size: what the state takes, held against limits.max_state_bytes before memory
// is gone (GraphSpec §2). It is kept up to date by what is written, so that a step
// costs what it changes and not what the state holds.

package machine

import (
	"math"
	"strconv"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/spec"
)

// DefaultStateBytes is max_state_bytes where nobody sets it.
const DefaultStateBytes = 256 << 20

// maxStateBytes is the limit of a run: its graph's, and never more than that of the
// run around it, which it has where its graph sets none.
func maxStateBytes(own *spec.Limits, parent *ParentInfo) int {
	switch {
	case parent == nil || parent.MaxStateBytes == 0:
		if own.MaxStateBytes == 0 {
			return DefaultStateBytes
		}
		return own.MaxStateBytes
	case own.MaxStateBytes == 0:
		return parent.MaxStateBytes
	}
	return min(own.MaxStateBytes, parent.MaxStateBytes)
}

// MaxStateBytes is the limit in force for the state and for each value that enters
// the run, in bytes as eval.Size counts them.
func (s *State) MaxStateBytes() int { return s.limits.MaxStateBytes }

// StateBytesAbove says whose limit that is: 0 the run's own, 1 that of the next run
// around it.
func (s *State) StateBytesAbove() int {
	if s.parent == nil || s.limits.MaxStateBytes != s.parent.MaxStateBytes || s.limits.MaxStateBytes == s.plan.limits.MaxStateBytes {
		return 0
	}
	return s.parent.StateBytesAbove
}

// initialSizes counts what the keys hold before the input.
func (b *builder) initialSizes() {
	p := b.plan
	p.sizes = make([]int, len(p.keys))
	for i := range p.keys {
		value, has := p.initial[p.keys[i].name]
		if !has {
			value, has = p.idle[p.keys[i].name]
		}
		if has {
			p.sizes[i] = sizeOf(value)
			p.size += p.sizes[i]
		}
	}
}

func sizeOf(v any) int {
	size, _ := eval.Size(v, math.MaxInt)
	return size
}

// resize notes what a key holds now.
func (s *State) resize(key, size int) {
	s.size += size - s.sizes[key]
	s.sizes[key] = size
}

// measure counts the whole state, as after a snapshot.
func (s *State) measure() {
	s.size, s.sizes = 0, make([]int, len(s.plan.keys))
	for i := range s.plan.keys {
		if value, has := s.Value(s.plan.keys[i].name); has {
			s.resize(i, sizeOf(value))
		}
	}
	for _, name := range s.extra {
		s.size += sizeOf(s.env[name])
	}
	for _, i := range s.plan.watched {
		list, _ := s.hist[s.plan.nodes[i].id].([]any)
		for _, output := range list {
			s.size += sizeOf(output)
		}
	}
}

// overLimit is the failure of a value, of that name and place, that is larger than
// the whole state may be.
func (s *State) overLimit(what string) *Failure {
	return s.ValueBound().failure(what)
}

func (s *State) stateLimit() string {
	text := plural(s.limits.MaxStateBytes, "byte") + ", its limit (max_state_bytes)"
	if s.hist != nil {
		text += ", which counts what history keeps"
	}
	return text
}

// sizeAfter is what a key holds after a write to it. Of reducers that make a new
// value, reduced is that value.
func (s *State) sizeAfter(w *write, how reducer, reduced any) int {
	switch how {
	case reduceReplace:
		return w.size
	case reduceAppend, reducePrepend:
		empty := sizeOf(nil) // a list without elements
		return max(s.sizes[w.key], empty) + w.size - empty
	}
	size, _ := eval.Size(reduced, s.limits.MaxStateBytes)
	return size
}

// outgrown is how the run ends when a write would take the state over its limit;
// nil: there is room.
func (p *Plan) outgrown(s *State, t *task, key, size int) *ending {
	if s.size-s.sizes[key]+size <= s.limits.MaxStateBytes {
		return nil
	}
	how := s.oversize("the state would take more than " + s.stateLimit() + ", with what the node writes to " + strconv.Quote(p.keys[key].name))
	how.failure.Node, how.failure.Attempt = p.nodes[t.node].id, t.attempt
	return how
}

// oversize is the end of a run whose state is too large.
func (s *State) oversize(message string) *ending {
	return &ending{status: Limit, reason: "size", failure: &Failure{Kind: "limit", Message: message, Above: s.StateBytesAbove()}}
}

// tooLarge reports whether the state that the run begins with, or that was edited,
// is over its limit.
func (s *State) tooLarge() bool { return s.final == nil && s.size > s.limits.MaxStateBytes }

// ValueBound is the limit of what a task may bring into the run, for use outside
// of the goroutine of the state.
type ValueBound struct{ most, above int }

// ValueBound returns the limit in force.
func (s *State) ValueBound() ValueBound {
	return ValueBound{s.limits.MaxStateBytes, s.StateBytesAbove()}
}

// Check is the failure of a value that is larger than one may be, what says which;
// nil: it fits.
func (b ValueBound) Check(v any, what string) *Failure {
	if _, fits := eval.Size(v, b.most); fits {
		return nil
	}
	return b.failure(what)
}

func (b ValueBound) failure(what string) *Failure {
	return &Failure{
		Kind: "limit", Above: b.above,
		Message: what + " takes more than " + plural(b.most, "byte") + ", the limit of the state and of a value (max_state_bytes)",
	}
}
