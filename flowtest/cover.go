// A smallest set of runs.

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
		if c.option != 0 {
			cost++
		}
		if c.taken.failure != nil {
			cost += 4 // rather a run that goes on
		}
	}
	return cost
}

// smallest is a smallest set of the runs that fires what they fire together, of these
// the one that is read soonest, as far as a search with a limit finds it.
func (s *search) smallest() []*tried {
	c := s.cover()
	c.pick(nil, 0, c.all)
	slices.SortStableFunc(c.best, func(a, b *tried) int { return len(a.path) - len(b.path) })
	return c.best
}

// chosen is a smallest set of runs, made simpler and told as their cases will come out.
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

// cover is a small set of the runs, found at once.
func (s *search) cover() *cover {
	c := &cover{runs: slices.Clone(s.runs), left: maxCovers}
	slices.SortStableFunc(c.runs, func(a, b *tried) int {
		if n := b.set.count() - a.set.count(); n != 0 {
			return n
		}
		return a.cost() - b.cost()
	})
	c.all = newBits(len(s.graph.Edges))
	for _, t := range c.runs {
		for _, e := range t.edges {
			c.all.add(e)
		}
	}
	c.best = c.greedy(c.all)
	return c
}

// maxCovers is how many sets a search for the smallest looks at.
const maxCovers = 20_000

// cover is a search for few runs that fire all edges that the runs fire.
type cover struct {
	all  edgeSet
	runs []*tried
	best []*tried
	left int
}

func costOf(runs []*tried) int {
	cost := 0
	for _, t := range runs {
		cost += t.cost()
	}
	return cost
}

// pick tries, for the edge that the fewest runs fire, each of these in turn.
func (c *cover) pick(chosen []*tried, cost int, open edgeSet) {
	if c.left--; c.left < 0 {
		return
	}
	left := open.count()
	if left == 0 {
		if len(chosen) < len(c.best) || len(chosen) == len(c.best) && cost < costOf(c.best) {
			c.best = slices.Clone(chosen)
		}
		return
	}
	most := 1
	for _, t := range c.runs {
		most = max(most, left-open.without(t.set).count())
	}
	if fewest := len(chosen) + (left+most-1)/most; fewest > len(c.best) || fewest == len(c.best) && cost >= costOf(c.best) {
		return
	}
	edge, rarest := -1, 0
	for i := range 64 * len(open) {
		if !open.has(i) {
			continue
		}
		n := 0
		for _, t := range c.runs {
			if t.set.has(i) {
				n++
			}
		}
		if edge < 0 || n < rarest {
			edge, rarest = i, n
		}
	}
	for _, t := range c.runs {
		if t.set.has(edge) {
			c.pick(append(slices.Clip(chosen), t), cost+t.cost(), open.without(t.set))
		}
	}
}

// greedy takes the run that fires most of what is left, again and again.
func (c *cover) greedy(open edgeSet) []*tried {
	var out []*tried
	for left := open.count(); left > 0; left = open.count() {
		var best *tried
		fewest := left
		for _, t := range c.runs {
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

// plainer are plans of a run with one input less, or one value that is the first
// option.
func (t *tried) plainer(g *spec.Graph) []*plan {
	picks := t.upTo(len(t.history))
	var out []*plan
	for _, name := range sortedNames(t.input) {
		if key := g.Key(name); key != nil && key.Required {
			continue
		}
		input := maps.Clone(t.input)
		delete(input, name)
		out = append(out, &plan{picks: picks, input: input})
	}
	for _, c := range t.choices {
		if c.input || c.option == 0 {
			continue
		}
		own := maps.Clone(picks)
		delete(own, c.key)
		out = append(out, &plan{picks: own, input: t.input})
	}
	return out
}

// edgeSet is a set of edges by index.
type edgeSet []uint64

func newBits(n int) edgeSet { return make(edgeSet, (n+63)/64) }

func (b edgeSet) add(i int)      { b[i/64] |= 1 << (i % 64) }
func (b edgeSet) has(i int) bool { return b[i/64]>>(i%64)&1 == 1 }

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
