// Following every way through a graph without branches, step by step: guards about
// visits and steps are decided, all others may go either way.

package lint

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"

	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/spec"
)

// Bounds on the exploration; beyond them the bounds of a graph are coarse.
const (
	maxStates    = 20_000
	maxStateCost = 2_000_000
	maxMoves     = 120_000
)

// boundWalk explores the runs of one graph.
type boundWalk struct {
	f     *facts
	flow  *controlflow.Graph
	depth int
	room  int // how many states are explored; 0 for maxStates
	// decided is how many conditions were evaluated.
	decided int

	costs     []span // of one execution, by node
	file      string // that the graph stands in; "" for the outermost
	family    family
	limit     []int // of visits, by node; 0 for none
	counters  []counter
	counterOf map[int]int // by node
	stepCap   int         // 0: no guard asks for the step
	// vars are the numbers in the state that are followed, varOf their places by name;
	// beyond farthest from 0 their values are not told apart.
	vars     []variable
	varOf    map[string]int
	farthest float64
	choices  map[string][]way
	caught   bool // some node has failure edges

	known map[string]int // state numbers by key
	key   []byte         // of the next state
	queue []boundState
	moves []boundMove
	// start and done are state numbers; states is how many there are.
	start, done, states int
	// wide says that the states are only nodes, for a graph with too many ways.
	wide bool
}

// boundState is a run between two steps.
type boundState struct {
	at     int        // the node that runs next; -1: the run has ended
	visits []int      // by counter, up to its cap
	step   int        // up to stepCap
	values []interval // by variable
}

// boundMove is one step.
type boundMove struct {
	from, to int
	span     span
	ran      int // -1: the node refused the visit, and it is no step
}

// way is one thing that may come of an execution.
type way struct {
	targets []int // vertices; END is dropped
	extra   span
	// stops says that the run ends here.
	stops bool
	// failed: the execution may have made no model call.
	failed bool
	// claims are how the conditions came out that are tried before.
	claims []held
}

// appendKey tells states apart.
func (s *boundState) appendKey(key []byte) []byte {
	key = append(strconv.AppendInt(key, int64(s.at), 36), ';')
	for _, n := range s.visits {
		key = append(strconv.AppendInt(key, int64(n), 36), ' ')
	}
	key = strconv.AppendInt(append(key, ';'), int64(s.step), 36)
	for _, v := range s.values {
		key = binary.BigEndian.AppendUint64(strconv.AppendBool(key, v.null), math.Float64bits(v.lo))
		key = binary.BigEndian.AppendUint64(key, math.Float64bits(v.hi))
	}
	return key
}

// explore finds all states; false when there are too many, or branches.
func (w *boundWalk) explore() bool {
	w.known, w.choices = map[string]int{}, map[string][]way{}
	w.queue, w.moves = nil, nil
	counts := func(n *spec.Node) bool { return n.Join != nil && n.Join.Count > 1 }
	if w.flow.Anywhere || w.flow.FansOut || slices.ContainsFunc(w.f.graph.Nodes, counts) {
		return false
	}
	w.done = w.number(boundState{at: -1})
	w.start = w.number(boundState{at: w.f.Start(), visits: make([]int, len(w.counters)), values: w.startValues()})
	// A state costs as much as it has counters.
	most := min(maxStates, maxStateCost/(len(w.counters)+1))
	moves := maxMoves
	if w.room > 0 {
		const perState = 5
		most, moves = min(most, w.room), perState*w.room
	}
	for at := 1; at < len(w.queue); at++ {
		if w.expand(at); len(w.queue) > most || len(w.moves) > moves {
			return false
		}
	}
	w.states = len(w.queue)
	return true
}

// number is the number of a state, a new one or not.
func (w *boundWalk) number(s boundState) int {
	w.key = s.appendKey(w.key[:0])
	if n, ok := w.known[string(w.key)]; ok {
		return n
	}
	w.known[string(w.key)] = len(w.queue)
	w.queue = append(w.queue, s)
	return len(w.queue) - 1
}

// expand adds the moves of a state.
func (w *boundWalk) expand(at int) {
	s := w.queue[at]
	v := s.at
	c, counted := w.counterOf[v]
	refused := counted && w.limit[v] > 0 && s.visits[c] >= w.limit[v]
	next := boundState{visits: slices.Clone(s.visits), step: s.step}
	move := boundMove{from: at, to: -1, ran: -1}
	if !refused || w.f.graph.Nodes[v].OnMaxVisits == "skip" {
		move.span, move.ran = exactly(1), v
		next.step = min(next.step+1, w.stepCap)
	}
	if counted && !refused {
		next.visits[c] = min(next.visits[c]+1, w.counters[c].most)
	}
	after, succeeds := s.values, true
	var ways []way
	if refused {
		ways = w.refusedWays(v)
	} else {
		if after, succeeds = w.written(v, s.values); !succeeds {
			after = s.values
		}
		next.values = after
		ways = w.ways(v, &next, succeeds)
	}
	before := len(w.moves)
	for i := range ways {
		choice, one, possible := &ways[i], move, true
		to := boundState{at: -1}
		if !choice.stops && choice.targets[0] < len(w.f.graph.Nodes) {
			to = next
			to.at, to.values = choice.targets[0], after
			if choice.failed {
				to.values = s.values
			}
			for j := 0; j < len(choice.claims) && possible; j++ {
				o := &choice.claims[j]
				to.values, possible = w.narrowed(to.values, o.program.Tree(), o.holds)
			}
		}
		if !possible {
			continue
		}
		if !refused {
			rest := w.costs[v]
			rest.least[inSteps]--
			rest.most[inSteps]--
			if choice.failed {
				rest.least = cost{}
			}
			one.span = one.span.plus(rest)
		}
		one.span = one.span.plus(choice.extra)
		if !choice.stops {
			one.to = w.number(to)
		}
		w.moves = append(w.moves, one)
	}
	if len(w.moves) == before { // whatever happens ends the run
		w.moves = append(w.moves, move)
	}
}
