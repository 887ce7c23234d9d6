// Following every way through a graph, superstep by superstep: guards about
// visits and steps are decided, all others may go either way.

package lint

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"

	"github.com/graphrun/graphrun/internal/analysis/controlflow"
)

// Bounds on the exploration; beyond them the bounds of a graph are coarse.
const (
	maxStates    = 20_000
	maxStateCost = 2_000_000
	maxMoves     = 120_000
	maxReleases  = 400_000
	maxHeld      = 4   // tasks whose waiting is followed either way
	maxCancelled = 6   // tasks that a join may cancel, or not
	maxBundles   = 256 // combinations of what the tasks of one superstep do
)

// boundWalk explores the runs of one graph.
type boundWalk struct {
	f     *facts
	flow  *controlflow.Graph
	depth int
	room  int // how many states are explored; 0 for maxStates
	// decided is how many conditions were evaluated, releases how often joins were
	// looked at.
	decided, releases int
	tooMany           bool // ways that a join may go on

	costs     []span // of one execution, by node
	file      string // that the graph stands in; "" for the outermost
	family    family
	limit     []int          // of visits, by node; 0 for none
	reaches   map[int][]bool // by join: the vertices that can reach it
	nested    map[int]bool   // by join: branches of several fan-outs may wait there
	drops     bool           // a failed branch may be dropped
	cancels   bool           // with others in the same, which are no steps then
	unsteps   bool           // a task may be cancelled and be no step any more
	counters  []counter
	counterOf map[int]int // by node
	stepCap   int         // 0: no guard asks for the step
	// vars are the numbers in the state that are followed, varOf their places by name;
	// beyond farthest from 0 their values are not told apart.
	vars     []variable
	varOf    map[string]int
	farthest float64
	choices  map[string][]way
	// fans: several edges of a node may fire; caught: some node has failure edges.
	fans, caught bool
	// joinsAfter are the results of nextJoins, tolerated and joinsOfLost those of
	// tolerance.
	joinsAfter, joinsOfLost map[int][]int
	tolerated               map[int]bool

	known map[string]int // state numbers by key
	key   []byte         // of the next state
	queue []boundState
	moves []boundMove
	// start and done are state numbers; states is how many there are.
	start, done, states int
	// wide says that the states are only nodes, for a graph with too many ways.
	wide bool
}

// boundState is a run between two supersteps.
type boundState struct {
	active  []int // nodes that run next, sorted, each once
	parked  []int // tasks that wait for a person, a timer or a retry, sorted
	waiting []arrival
	// bypassed are the joins, sorted, that a branch which failed on the way there
	// may not come back to; lost those of them to which it can't, spent those that
	// are settled in this superstep.
	bypassed, lost, spent []int
	visits                []int      // by counter, up to its cap
	step                  int        // up to stepCap
	values                []interval // by variable
}

// arrival counts the branches that have reached a join.
type arrival struct{ join, count int }

// boundMove is one superstep: what began in it and what ended. A task that is
// cancelled begins only; it is no step of the run.
type boundMove struct {
	from, to   int
	span       span
	ran, ended []int
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
	for _, list := range [...][]int{s.active, s.parked, s.bypassed, s.lost, s.visits} {
		for _, n := range list {
			key = append(strconv.AppendInt(key, int64(n), 36), ' ')
		}
		key = append(key, ';')
	}
	for _, a := range s.waiting {
		key = append(strconv.AppendInt(append(strconv.AppendInt(key, int64(a.join), 36), ' '), int64(a.count), 36), ' ')
	}
	key = strconv.AppendInt(append(key, ';'), int64(s.step), 36)
	for _, v := range s.values {
		key = binary.BigEndian.AppendUint64(strconv.AppendBool(key, v.null), math.Float64bits(v.lo))
		key = binary.BigEndian.AppendUint64(key, math.Float64bits(v.hi))
	}
	return key
}

// explore finds all states; false when there are too many.
func (w *boundWalk) explore() bool {
	w.known, w.choices = map[string]int{}, map[string][]way{}
	w.queue, w.moves, w.releases, w.tooMany = nil, nil, 0, false
	if w.flow.Anywhere || w.fans && w.f.joinsAlone() {
		return false
	}
	w.done = w.number(boundState{}) // no branch is left
	w.start = w.number(boundState{active: []int{w.f.Start()}, visits: make([]int, len(w.counters)), values: w.startValues()})
	// A state costs as much as it has counters.
	most := min(maxStates, maxStateCost/(len(w.counters)+1))
	moves := maxMoves
	if w.room > 0 {
		const perState = 5
		most, moves = min(most, w.room), perState*w.room
	}
	for at := 1; at < len(w.queue); at++ {
		if !w.expand(at) || len(w.queue) > most || len(w.moves) > moves || w.spent() {
			return false
		}
	}
	w.states = len(w.queue)
	return true
}

// spent reports whether joins were looked at as often as may be.
func (w *boundWalk) spent() bool {
	if w.room > 0 {
		return w.tooMany || w.releases > maxReleases/100
	}
	return w.tooMany || w.releases > maxReleases
}

// number is the number of a state, a new one or not.
func (w *boundWalk) number(s boundState) int {
	if len(s.active)+len(s.parked)+len(s.waiting) == 0 {
		s = boundState{}
	}
	w.key = s.appendKey(w.key[:0])
	if n, ok := w.known[string(w.key)]; ok {
		return n
	}
	w.known[string(w.key)] = len(w.queue)
	w.queue = append(w.queue, s)
	return len(w.queue) - 1
}

// arrive puts the branches at their targets and lets the joins go that wait
// for nobody else; a join of the first N may cancel the others or come too late.
func (w *boundWalk) arrive(s boundState, targets []int) []boundState {
	s.waiting, s.spent = slices.Clone(s.waiting), nil
	for _, v := range targets {
		if v >= len(w.f.graph.Nodes) {
			continue
		}
		if w.f.graph.Nodes[v].Join == nil {
			s.active = append(s.active, v)
			continue
		}
		if i := slices.IndexFunc(s.waiting, func(a arrival) bool { return a.join == v }); i >= 0 {
			s.waiting[i].count++
		} else {
			s.waiting = append(s.waiting, arrival{v, 1})
		}
	}
	slices.SortFunc(s.waiting, func(a, b arrival) int { return a.join - b.join })
	slices.Sort(s.active)
	s.active = slices.Compact(s.active)
	return w.release(nil, s, 0)
}

// release adds to a list what may become of the joins at which branches wait, from one
// of them on.
func (w *boundWalk) release(out []boundState, s boundState, from int) []boundState {
	if w.releases++; w.spent() {
		return nil
	}
	for i := from; i < len(s.waiting); i++ {
		a := s.waiting[i]
		join := w.f.graph.Nodes[a.join].Join
		switch enough := join.Wait != "all" && a.count >= max(join.Count, 1); {
		case w.alone(&s, a.join) && (w.drops || slices.Contains(s.bypassed, a.join)):
			return w.settle(out, s, i)
		case w.alone(&s, a.join):
			s = started(s, i)
			i--
		case w.nested[a.join] && !enough:
			return w.release(w.release(out, started(s, i), i), s, i+1)
		case enough:
			return w.first(out, started(s, i), a.join)
		}
	}
	if join, free := w.forsaken(&s); join >= 0 {
		out = w.forsake(out, s, join)
		waits := !free || w.drops || controlflow.Bypass(w.f.graph.Nodes[join]) == "fail" // for the end of those that can't come
		if waits && len(s.active)+len(s.parked) > 0 {
			out = append(out, s)
		}
		return out
	}
	if len(s.active)+len(s.parked) > 0 || len(s.waiting) == 0 {
		return append(out, s)
	}
	w.tooMany = true // joins that wait for each other: one of them goes first, or all do
	return nil
}

// started is the state in which the i-th waiting join runs next.
func started(s boundState, i int) boundState {
	s.active = append(slices.Clone(s.active), s.waiting[i].join)
	slices.Sort(s.active)
	s.active = slices.Compact(s.active)
	s.waiting = slices.Delete(slices.Clone(s.waiting), i, i+1)
	return s
}

// alone reports whether nobody else can reach a join any more.
func (w *boundWalk) alone(s *boundState, join int) bool {
	reach := w.reaches[join]
	comes := func(v int) bool { return v != join && reach[v] }
	return !w.hears(s, join) && !slices.ContainsFunc(s.active, comes) && !slices.ContainsFunc(s.parked, comes) &&
		!slices.ContainsFunc(s.waiting, func(a arrival) bool { return comes(a.join) })
}
