// Runs that are looked for: as many steps as a bound says, or the nodes of a path.

package flowtest

import (
	"container/heap"
	"context"
	"slices"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// Aim says which run is looked for.
type Aim struct {
	// Steps is how many steps the run takes, those of subgraphs too; negative: the
	// run has each node as often as Path.
	Steps int
	// Path leads the search: the run goes this way as far as it can. Nil: any.
	Path []string
	// Completes says that the run completes; otherwise it may end in any way.
	Completes bool
}

// Bounds of the search for one aim: runs, the choices in each, and decisions that are
// asked to come out otherwise.
const (
	maxAimed        = 300
	maxAimedChoices = 2000
	maxAimedFlips   = 600
)

// Attain looks for runs of a flow on the machine itself, with values solved from its
// conditions, and returns for each aim the path of a run that reaches it; nil: none was
// found, which is no proof that there is none.
func Attain(ctx context.Context, cfg Config, g *spec.Graph, aims []Aim) ([][]string, error) {
	out := make([][]string, len(aims))
	limited, stop := context.WithTimeout(ctx, searchTime)
	defer stop()
	for i := range aims {
		s, err := newSearch(&cfg, g)
		if err != nil {
			return nil, err
		}
		s.aim, s.most, s.mostFlips = &aiming{Aim: aims[i]}, maxAimedChoices, maxAimedFlips
		out[i] = s.attain(limited)
	}
	return out, nil
}

// aiming is the search for one run.
type aiming struct {
	Aim
	// reached is how far the run that is varied has gone on the path; off is how many
	// steps more or less it has taken.
	reached, off int
	steps        int // of it
}

// attain tries runs, those first that vary one which has come far, near where it left
// the path.
func (s *search) attain(ctx context.Context) []string {
	for _, input := range s.inputs {
		s.queue(&plan{input: input})
	}
	for len(s.waiting) > 0 && s.tries < maxAimed && ctx.Err() == nil {
		t := s.try(ctx, heap.Pop(&s.waiting).(*plan))
		if s.aim.met(t) {
			return t.path
		}
		s.aim.reached, s.aim.steps = 0, len(t.path)
		s.aim.off = max(t.steps-s.aim.Steps, s.aim.Steps-t.steps)
		for s.aim.reached < min(len(t.path), len(s.aim.Path)) && t.path[s.aim.reached] == s.aim.Path[s.aim.reached] {
			s.aim.reached++
		}
		s.expand(t)
	}
	return nil
}

// met reports whether a run is the one that is looked for.
func (a *aiming) met(t *tried) bool {
	switch {
	case a.Completes && t.status != string(machine.Completed):
		return false
	case a.Steps >= 0:
		return t.steps == a.Steps
	}
	return slices.Equal(slices.Sorted(slices.Values(t.path)), slices.Sorted(slices.Values(a.Path)))
}

// rank orders a plan that varies a run at a place.
func (a *aiming) rank(p *plan) {
	if len(a.Path) == 0 {
		p.rank = a.off
		return
	}
	p.rank = -a.reached
	if p.size -= a.reached - 1; p.size < 0 {
		p.size = -p.size
	}
}

// near reports whether a decision of a run lies where the run left the path, or, where
// there is none, at its beginning or its end.
func (a *aiming) near(i int) bool {
	const before = 8
	if len(a.Path) == 0 {
		return i < before || i >= a.steps-before
	}
	return i < a.reached && i >= a.reached-before
}
