// The search for runs: each run shows decisions that can be made to come out
// otherwise, by other values where these come from.

package flowtest

import (
	"container/heap"
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strings"
)

// plan says what a run is to choose: by execution, what it comes to, and the input.
// Whatever is not named comes to its first option.
type plan struct {
	picks map[string]option
	input map[string]any
	// from, when set, is a run of which the first choices are taken over, and then
	// another option of the next.
	from       *tried
	at, option int
	// news are the edges that it is to fire.
	news []int
	// rank is how soon it is tried; of one rank those of short runs come first.
	rank, size, number int
}

// Ranks of plans.
const (
	rankNews   = iota // makes an edge fire that none has fired yet
	rankKind          // another kind of outcome, in a run that showed something new
	rankOther         // a decision comes out as it did elsewhere
	rankValues        // other values, without a reason
)

// plans are those that wait, the most promising first.
type plans []*plan

func (q plans) Len() int { return len(q) }
func (q plans) Less(i, j int) bool {
	a, b := q[i], q[j]
	switch {
	case a.rank != b.rank:
		return a.rank < b.rank
	case a.size != b.size:
		return a.size < b.size
	}
	return a.number < b.number
}
func (q plans) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *plans) Push(x any)   { *q = append(*q, x.(*plan)) }
func (q *plans) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// queue adds a plan that was not there yet.
func (s *search) queue(p *plan) {
	if len(s.waiting) > 4*maxTries {
		return
	}
	if s.aim != nil {
		s.aim.rank(p)
	}
	key := p.key()
	if s.planned[key] {
		return
	}
	s.planned[key] = true
	p.number = len(s.planned)
	heap.Push(&s.waiting, p)
}

// key is equal for plans that say the same.
func (p *plan) key() uint64 {
	h := fnv.New64a()
	if p.from != nil {
		io.WriteString(h, p.from.inputText)
		for _, c := range p.from.choices[:p.at] {
			io.WriteString(h, c.key+c.text)
		}
		c := &p.from.choices[p.at]
		io.WriteString(h, c.key+c.list[p.option].text())
		return h.Sum64()
	}
	io.WriteString(h, jsonText(p.input))
	for _, key := range sortedNames(p.picks) {
		o := p.picks[key]
		io.WriteString(h, key+o.text())
	}
	return h.Sum64()
}

// text tells options apart.
func (o *option) text() string { return fmt.Sprint(o.target, o.real) + o.entry() }

// chosen are the choices of a plan.
func (p *plan) chosen() map[string]option {
	if p.from == nil {
		return p.picks
	}
	out := make(map[string]option, p.at+1)
	for _, c := range p.from.choices[:p.at] {
		out[c.key] = c.taken
	}
	c := &p.from.choices[p.at]
	out[c.key] = c.list[p.option]
	return out
}

// explore tries runs until all edges are fired by what seem to be the fewest, or
// nothing new has come for long.
func (s *search) explore(ctx context.Context) {
	for i, input := range s.inputs {
		s.queue(&plan{input: input, rank: min(i, 1) * rankKind})
	}
	idle := 0
	for len(s.waiting) > 0 && s.tries < maxTries && s.wits.spent < maxSpent && ctx.Err() == nil {
		all := len(s.fired) == len(s.graph.Edges)
		if all && (idle > triesMore || s.count == 1 || s.waiting[0].rank == rankValues && s.open == 0) || idle > triesAfter {
			return
		}
		p := heap.Pop(&s.waiting).(*plan)
		if rank := s.rankNow(p); rank != p.rank {
			p.rank = rank
			heap.Push(&s.waiting, p)
			continue
		}
		t := s.try(ctx, p)
		idle++
		news := false
		for _, e := range t.edges {
			if !s.fired[e] {
				s.fired[e], news = true, true
			}
		}
		s.miss(p)
		if s.keep(t) || news {
			idle = 0
		}
		s.expand(t)
	}
}

// rankNow is the rank of a plan by what is known now: one that is to fire an edge which
// has fired, or which many others did not make fire, is not that promising any more.
func (s *search) rankNow(p *plan) int {
	if p.rank != rankNews {
		return p.rank
	}
	rank := rankOther
	for _, e := range p.news {
		switch {
		case s.fired[e]:
		case s.missed[e] < mostMissed:
			return rankNews
		default:
			rank = rankKind
		}
	}
	return rank
}

// miss counts the edges that a plan was to fire, and that have not fired yet.
func (s *search) miss(p *plan) {
	if p.rank != rankNews {
		return
	}
	for _, e := range p.news {
		if !s.fired[e] {
			s.missed[e]++
		}
	}
}

// keep notes a run of which no cheaper one fires all that it does, and reports
// whether fewer runs fire all now.
func (s *search) keep(t *tried) bool {
	if len(t.edges) == 0 {
		return false
	}
	for _, o := range s.runs {
		if t.set.within(o.set) && o.cost() <= t.cost() {
			return false
		}
	}
	s.runs = slices.DeleteFunc(s.runs, func(o *tried) bool {
		return o.set.within(t.set) && t.cost() <= o.cost()
	})
	s.runs = append(s.runs, t)
	before := s.count
	s.count = len(s.cover().best)
	return s.count < before
}

// expand plans runs that differ from one.
func (s *search) expand(t *tried) {
	if t.status == "error" || t.status == "cancelled" {
		return
	}
	signature := t.signature()
	fresh := !s.walked[signature]
	s.walked[signature] = true
	if fresh {
		s.flips(t)
	}
	for i, c := range t.choices {
		if c.input || s.aim != nil && !s.aim.near(c.at) {
			continue
		}
		for at, other := range c.list {
			if at == c.option {
				continue
			}
			rank := rankValues
			if fresh && (c.decide || other.failure != nil || c.taken.failure != nil || other.real || c.kind == stubKind) {
				rank = rankKind
			}
			s.queue(&plan{from: t, at: i, option: at, input: t.input, rank: rank, size: i})
		}
	}
}

// signature tells runs apart that went other ways.
func (t *tried) signature() string {
	var b strings.Builder
	for i := range t.history {
		h := &t.history[i]
		fmt.Fprint(&b, h.Node, h.Error != nil, h.Edges, ";")
	}
	return b.String()
}
