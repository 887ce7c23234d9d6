// Runs that are looked for: as many steps as a bound says, or the nodes of a path.

package flowtest

import (
	"container/heap"
	"context"
	"math"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// Aim says which run is looked for.
type Aim struct {
	// Total is what the run's executions come to, those of subgraphs too: the steps, or
	// what Weigh says that each counts.
	Total float64
	Weigh func(e Execution) float64
	// Path leads the search: the run goes this way as far as it can. Nil: any.
	Path []string
	// Completes says that the run completes; otherwise it may end in any way.
	Completes bool
	// Graph is what runs, and Within the aims for the subgraphs that nodes run, by the
	// names of these: a run that reaches one leads the search wherever its node runs.
	Graph  *spec.Graph
	Within map[string]*Aim
}

// Execution is one of a node, or of one element of its each, or a decision about the
// edges behind it. Node is its path: its name, or outer/inner in a subgraph.
type Execution struct {
	Node             string
	Decision, Failed bool
}

// Bounds of the search for one aim: runs, the choices in each, and decisions that are
// asked to come out otherwise.
const (
	maxAimed        = 300
	maxAimedChoices = 2000
	maxAimedFlips   = 600
	maxOff          = 999 // how far off runs of one way are told apart
)

// Attain looks for runs of a flow on the machine itself, with values solved from its
// conditions, and returns for each aim the path of a run that reaches it; nil: none was
// found, which is no proof that there is none.
func Attain(ctx context.Context, cfg Config, aims []*Aim) ([][]string, error) {
	out := make([][]string, len(aims))
	limited, stop := context.WithTimeout(ctx, searchTime)
	defer stop()
	runs := map[*Aim]*tried{}
	for i := range aims {
		t, err := attain(limited, &cfg, aims[i], runs)
		if err != nil {
			return nil, err
		}
		if t != nil {
			out[i] = t.path
		}
	}
	return out, nil
}

// attain looks for a run, after those of its subgraphs; runs are those of the aims that
// were looked for before.
func attain(ctx context.Context, cfg *Config, aim *Aim, runs map[*Aim]*tried) (*tried, error) {
	if t, known := runs[aim]; known {
		return t, nil
	}
	s, err := newSearch(cfg, aim.Graph, &aiming{Aim: aim, lead: map[execution]option{}})
	if err != nil {
		return nil, err
	}
	s.most, s.mostFlips = maxAimedChoices, maxAimedFlips
	for _, name := range sortedNames(aim.Within) {
		inner, err := attain(ctx, cfg, aim.Within[name], runs)
		if err != nil {
			return nil, err
		}
		if inner == nil {
			continue
		}
		for _, c := range inner.choices {
			if !c.input {
				s.aim.lead[execution{name + "/" + c.node, c.visit, c.decide}] = c.taken
			}
		}
	}
	runs[aim] = s.attain(ctx)
	return runs[aim], nil
}

// aiming is the search for one run.
type aiming struct {
	*Aim
	// lead is what executions in subgraphs come to, unless a plan says otherwise.
	lead map[execution]option
	// reached is how far the run that is varied has gone on the path; off is how far it
	// is from the total.
	reached, off int
	steps        int // of it
}

// execution names one in a subgraph, by its path and its visit in a run of that.
type execution struct {
	node   string
	visit  int
	decide bool
}

// attain tries runs, those first that vary one which has come far, near where it left
// the path.
func (s *search) attain(ctx context.Context) *tried {
	for _, input := range s.inputs {
		s.queue(&plan{input: input})
	}
	for len(s.waiting) > 0 && s.tries < maxAimed && ctx.Err() == nil {
		t := s.try(ctx, heap.Pop(&s.waiting).(*plan))
		if s.aim.met(t) {
			return t
		}
		s.aim.reached, s.aim.steps = 0, len(t.path)
		s.aim.off = int(min(math.Abs(s.aim.weight(t)-s.aim.Total), maxOff))
		for s.aim.reached < min(len(t.path), len(s.aim.Path)) && t.path[s.aim.reached] == s.aim.Path[s.aim.reached] {
			s.aim.reached++
		}
		s.expand(t)
	}
	return nil
}

// met reports whether a run is the one that is looked for.
func (a *aiming) met(t *tried) bool {
	return a.weight(t) == a.Total && (!a.Completes || t.status == string(machine.Completed))
}

// weight is what the executions of a run come to.
func (a *aiming) weight(t *tried) float64 {
	if a.Weigh == nil {
		return float64(t.steps)
	}
	return t.weight
}

// rank orders a plan that varies a run at a place.
func (a *aiming) rank(p *plan) {
	if len(a.Path) == 0 {
		p.rank = a.off
		return
	}
	p.rank = -a.reached
	if a.Weigh != nil { // among those that go the same way
		p.rank = -a.reached*(maxOff+1) + a.off
	}
	if p.size -= a.reached - 1; p.size < 0 {
		p.size = -p.size
	}
}

// near reports whether a decision of a run lies where the run left the path, or, where
// there is none, at its beginning or its end.
func (a *aiming) near(i int) bool {
	const before = 8
	if a.Weigh != nil && a.reached == len(a.Path) { // what subgraphs do on the way
		return true
	}
	if len(a.Path) == 0 {
		return i < before || i >= a.steps-before
	}
	return i < a.reached && i >= a.reached-before
}

// lead is what an execution in a subgraph comes to in a run that is looked for.
func (w *walk) lead(task *runner.Task, decide bool) (option, bool) {
	if w.s.aim == nil {
		return option{}, false
	}
	o, led := w.s.aim.lead[execution{task.Node, task.Visit, decide}]
	return o, led
}

// weigh counts an execution of a run that is looked for by what its executions count.
func (w *walk) weigh(e Execution) {
	if w.s.aim == nil || w.s.aim.Weigh == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.out.weight += w.s.aim.Weigh(e)
}
