// Package explore tries out the runs of a graph: the real machine with chosen
// values in the place of inputs, results, answers and decisions, and with every order
// in which tasks and people may come to an end. It finds a run that does something, the
// witness of a claim, or tells that no run does, or what stood in the way of knowing.
//
// The search is explicit-state and bounded. A run is the list of choices that led to
// it; to go on with it, the machine executes it again from the start. Values are chosen
// late: an input or a result stays open until the run comes to an expression that reads
// it.
package explore

import (
	"slices"

	"github.com/graphrun/graphrun/runner/machine"
)

// Question asks for a run of a model's graph.
type Question struct {
	Model *Model
	// Plan is of the model's graph, with the policy that is asked about.
	Plan *machine.Plan
	// Visits says how many visits of which nodes tell states apart, besides what the
	// graph's conditions read.
	Visits map[int]int
	// Watch, unless it is -1, is a node whose failures count although nothing catches them.
	Watch int
	// Found reports whether the run does what is asked for; it is called after every
	// event. Nil: a policy has ended the run.
	Found func(r *Run) bool
	// Allow, if set, says which ways out of a node runs may take.
	Allow func(r *Run, node int, taken []Taken) bool
	// Fixed are state keys that no input and no result gives a value: what is not known
	// of them is not guessed.
	Fixed map[string]bool
	// Omit is a state key that the caller of a run gives no value, and that tells states
	// apart; "" for none.
	Omit string
	// Late lets each task take longer than what runs beside it, and time pass in any
	// order: for proofs.
	Late bool
	// Proof gives up as soon as it is known that not every run can be tried.
	Proof bool
	// Guide are nodes: runs that have visited more of them, one after the other, are
	// tried first; later those that go round in loops beside them, and last those that
	// have gone on from the last of them. More, unless it is -1, is a node: so are runs
	// that have visited it more often, guided by Round, a way from it back to it, the node
	// itself left out.
	Guide, Round []int
	More         int
	// Budget is how many steps may still be taken; it is counted down. Most is how many
	// this search may take.
	Budget *int
	Most   int
}

// Taken is a way out of a node that was taken.
type Taken struct {
	Edge int // index; -1 for a dynamic target
	To   int // index of the node; -1 for END
}

// Answer is what came out.
type Answer struct {
	// Found says that a run does what was asked for. Witness are the nodes that it
	// visits, Failure is how it ends, if it does.
	Found   bool
	Witness []int
	Failure *machine.Failure
	// Input is what it was given, and Chosen what its executions came to, in order.
	Input  map[string]any
	Chosen []Chosen
	// Gap is the first thing that kept the search from trying every run; "" when all
	// were tried.
	Gap string
}

// Chosen is what an execution of a node came to, or a decision about its edges.
type Chosen struct {
	Node, Visit int
	Output      any
	Failure     *machine.Failure
	// Decision: a model decided which edge to follow, to Target.
	Decision bool
	Target   string
	// Absent: a person let the time for the answer pass.
	Absent bool
}

// TooMany is the gap of a search that has spent its budget.
const TooMany = "there are too many runs to try"

// maxChain is how many choices a run is followed by before others have their turn.
const maxChain = 6

// search is a question being answered.
type search struct {
	*Question
	answer Answer
	todo   [][]untried    // by progress
	seen   map[string]int // with how few steps, by what tells states apart
	digest digest
	key    []byte // the last one
	left   int    // steps that may still be taken
	ranks  bool   // the order in which tasks end matters
}

// branch is a run that has come to a choice, and what was chosen: an event, or the
// value of a slot.
type branch struct {
	from  *branch
	event *choice
	slot  int
	value any
}

// untried is a run that has come to a choice, and what has not been tried there: they
// are many, and few get their turn. Without any, it is the run that begins.
type untried struct {
	from   *branch
	events []choice
	slot   int
	values []any
}

// take is the first of what was not tried; last says that no other is left.
func (u *untried) take() (b *branch, last bool) {
	switch {
	case len(u.events) > 0:
		b, u.events = &branch{from: u.from, event: &u.events[0]}, u.events[1:]
	case len(u.values) > 0:
		b, u.values = &branch{from: u.from, slot: u.slot, value: u.values[0]}, u.values[1:]
	}
	return b, len(u.events)+len(u.values) == 0
}

// Explore answers a question.
func Explore(q Question) Answer {
	s := &search{Question: &q, seen: map[string]int{}, left: q.Most, ranks: q.Model.ranks}
	s.digest = digest{steps: q.Model.steps, past: q.Model.past}
	for i, k := range q.Model.graph.State {
		if q.Model.counts[k.Name.Value] || k.Name.Value == q.Omit {
			s.digest.keys = append(s.digest.keys, i)
		}
	}
	for node := range q.Model.graph.Nodes {
		if most := max(q.Model.visits[node], q.Visits[node]); most > 0 {
			s.digest.visits = append(s.digest.visits, visited{node, most})
		}
	}
	if s.Found == nil {
		s.Found = violated
	}
	for _, gap := range q.Model.gaps {
		s.gap(gap)
	}
	s.todo = [][]untried{{{}}}
	for !s.answer.Found && !(s.Proof && s.answer.Gap != "") {
		b, ok := s.next()
		if !ok {
			break
		}
		if s.spent() {
			s.gap(TooMany)
			break
		}
		s.follow(b)
	}
	return s.answer
}

func violated(r *Run) bool { return r.State.Reason == "policy" && r.State.Ended() }

func (s *search) next() (b *branch, ok bool) {
	for i := len(s.todo) - 1; i >= 0; i-- {
		if len(s.todo[i]) > 0 {
			b, last := s.todo[i][0].take()
			if last {
				s.todo[i] = s.todo[i][1:]
			}
			return b, true
		}
	}
	return nil, false
}

// gap notes what keeps the search from trying every run.
func (s *search) gap(what string) {
	if s.answer.Gap == "" {
		s.answer.Gap = what
	}
}

// follow executes a run up to its next choice, and adds what may be chosen there.
func (s *search) follow(b *branch) {
	var events []*choice
	bound := map[int]any{}
	for at := b; at != nil; at = at.from {
		if at.event == nil {
			bound[at.slot] = at.value
		} else {
			events = append(events, at.event)
		}
	}
	slices.Reverse(events)
	r := s.newRun(bound)
	r.begin()
	for far := 0; far < maxChain; {
		switch {
		case r.stopped:
			return
		case r.open != noSlot:
			rest := untried{from: b, slot: r.open, values: r.bindings(r.open)}
			b, _ = rest.take()
			s.later(rest, r)
			r.bind(b.slot, b.value)
		case s.Found(r):
			s.answer.Found, s.answer.Witness, s.answer.Failure = true, slices.Clone(r.Path), r.State.Failure
			s.answer.Input, s.answer.Chosen = r.input, r.chosen
			return
		case r.State.Ended():
			if r.State.Status == machine.Limit && r.State.Reason == "size" {
				s.gap("the size of the state may end a run")
			}
			return
		case s.spent():
			s.gap(TooMany)
			return
		case r.settle():
		case len(events) > 0:
			if !r.take(events[0]) {
				s.gap("a run goes on in another way with other values")
				return
			}
			events = events[1:]
		default:
			key := r.key()
			s.spend(1 + len(key)/bytesAStep)
			// Who has taken more steps to the same may do less before max_steps.
			if steps, seen := s.seen[string(key)]; seen && steps <= r.State.Steps() {
				return
			}
			s.seen[string(key)] = r.State.Steps()
			rest := untried{from: b, events: r.moves()}
			s.spend(costOfChoice * len(rest.events))
			if far++; far == maxChain || len(rest.events) == 0 {
				s.later(rest, r)
				return
			}
			b, _ = rest.take()
			s.later(rest, r)
			r.take(b.event)
		}
	}
}

// later adds what may follow a run.
func (s *search) later(rest untried, r *Run) {
	progress := max(r.followed-r.again, 0)
	if r.past {
		progress = 0
	}
	progress += r.rounds * (1 + len(s.Guide) + len(s.Round))
	for len(s.todo) <= progress {
		s.todo = append(s.todo, nil)
	}
	if len(rest.events)+len(rest.values) > 0 {
		s.todo[progress] = append(s.todo[progress], rest)
	}
}
