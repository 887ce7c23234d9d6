// A small set of runs.

package flowtest

import (
	"context"
	"maps"
	"math/bits"
	"path/filepath"
	"slices"

	"github.com/graphrun/graphrun/spec"
)

// cost says which of two runs that show the same a person would rather read.
func (t *tried) cost() int {
	cost := 2*len(t.path) + len(t.choices) + 2*len(t.input)
	for _, c := range t.choices {
		if !c.usual {
			cost++
		}
		if c.taken.failure != nil {
			cost += 4 // rather a run that goes on
		}
	}
	return cost
}

// smallest returns a small set of the runs that fires what they fire together.
func (s *search) smallest() []*tried {
	runs, open := slices.Clone(s.runs), newBits(len(s.graph.Edges))
	for _, t := range runs {
		for _, e := range t.edges {
			open.add(e)
		}
	}
	out := greedy(runs, slices.Clone(open))
	for i, t := range out { // a plainer run may fire what the others don't
		need := slices.Clone(open)
		for j, o := range out {
			if i != j {
				need = need.without(o.set)
			}
		}
		for _, o := range runs {
			if need.within(o.set) && o.cost() < t.cost() {
				t = o
			}
		}
		out[i] = t
	}
	slices.SortStableFunc(out, func(a, b *tried) int { return len(a.path) - len(b.path) })
	return out
}

// chosen is a small set of runs, made simpler and told as their cases will come out.
func (s *search) chosen(ctx context.Context, cfg Config) []*tried {
	left := maxShrinks
	for {
		out, again := s.smallest(), false
		for i, t := range out {
			simpler := s.shrink(ctx, t, &left)
			if told := s.told(cfg, simpler); told != nil && t.set.within(told.set) {
				out[i] = told
				continue
			}
			if t.told {
				continue
			}
			s.replace(t, s.told(cfg, t))
			again = true
		}
		if !again {
			clear(s.fired)
			for _, t := range out {
				for _, e := range t.edges {
					s.fired[e] = true
				}
			}
			return out
		}
	}
}

// told is a run as its case comes out, which is how things are where people answer at
// once or branches are cancelled: the search lets each take a step. It is nil when the
// case can't be told.
func (s *search) told(cfg Config, t *tried) *tried {
	cfg.Run, cfg.Limit = nil, 0
	f, found, err := parseFor(cfg, s.graph.File.Name, []byte(s.write([]*tried{t}, filepath.Base(s.graph.File.Name), nil)), s.graph)
	if err != nil || found.HasErrors() {
		return nil
	}
	r := Run(cfg, []*File{f}).Results[0]
	if r.got == nil || hasOther(r.Failures) {
		return nil
	}
	own := *t
	own.told, own.resumed = true, r.resumed
	own.came(s.graph, r.got)
	return &own
}

// replace puts a run in the place of another, or nothing.
func (s *search) replace(t, told *tried) {
	s.runs = slices.DeleteFunc(s.runs, func(o *tried) bool { return o == t })
	if told != nil {
		s.runs = append(s.runs, told)
	}
}

// greedy takes the run that fires most of what is left, again and again.
func greedy(runs []*tried, open edgeSet) []*tried {
	var out []*tried
	for left := open.count(); left > 0; left = open.count() {
		var best *tried
		fewest := left
		for _, t := range runs {
			if n := open.without(t.set).count(); n < fewest || n == fewest && best != nil && t.cost() < best.cost() {
				best, fewest = t, n
			}
		}
		if best == nil {
			break
		}
		out, open = append(out, best), open.without(best.set)
	}
	return out
}

// maxShrinks is how many runs are tried to make those that were chosen simpler.
const maxShrinks = 600

// shrink is a run that fires the same with fewer inputs and plainer values: what need
// not be said is left out.
func (s *search) shrink(ctx context.Context, t *tried, left *int) *tried {
	for again := true; again; {
		again = false
		for _, p := range t.plainer(s.graph) {
			if *left--; *left < 0 || ctx.Err() != nil {
				return t
			}
			simpler := s.try(ctx, p)
			if len(simpler.edges) == 0 {
				continue
			}
			if t.set.within(simpler.set) && simpler.cost() < t.cost() {
				t, again = simpler, true
				break
			}
		}
	}
	return t
}

// plainer are plans of a run with one input less, or one usual value more.
func (t *tried) plainer(g *spec.Graph) []*plan {
	var out []*plan
	for _, name := range sortedNames(t.input) {
		if key := g.Key(name); key != nil && key.Required {
			continue
		}
		input := maps.Clone(t.input)
		delete(input, name)
		out = append(out, &plan{picks: t.plan.picks, input: input})
	}
	for _, c := range t.choices {
		if c.input || c.usual {
			continue
		}
		own := maps.Clone(t.plan.picks)
		delete(own, c.key)
		out = append(out, &plan{picks: own, input: t.input})
	}
	return out
}

// edgeSet is a set of edges by index.
type edgeSet []uint64

func newBits(n int) edgeSet { return make(edgeSet, (n+63)/64) }

func (b edgeSet) add(i int) { b[i/64] |= 1 << (i % 64) }

// within reports whether all of a set are in another.
func (b edgeSet) within(o edgeSet) bool {
	for i := range b {
		if b[i]&^o[i] != 0 {
			return false
		}
	}
	return true
}

// without are those of a set that are not in another.
func (b edgeSet) without(o edgeSet) edgeSet {
	out := slices.Clone(b)
	for i := range out {
		out[i] &^= o[i]
	}
	return out
}

func (b edgeSet) count() int {
	n := 0
	for _, word := range b {
		n += bits.OnesCount64(word)
	}
	return n
}
