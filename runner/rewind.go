// Runs that ended badly are taken up where their end began.

package runner

import (
	"fmt"

	"github.com/graphrun/graphrun/runner/machine"
)

// rewind takes the end of a run back, which has ended badly or was ending when
// its driver vanished: from the event on that its end began with, only what was
// done counts, and of the executions that it was lost with the last attempts
// count no more. Every other event stands, those of earlier attempts too. undo
// are the places of the events that count no more; none when the run was not
// ending. The error says that an event which stands would not be taken now: the
// run is then left as it is.
func (rec *record) rewind(ended *machine.State) (undo []int, err error) {
	rec.clean, rec.endings = nil, 0
	// What is left of finally still runs.
	if !ended.Ending() || ended.InFinally() && !(rec.nested && ended.EndsFromOutside()) {
		return nil, nil
	}
	rec.endings = ended.Endings()
	effects, first, err := rec.effects()
	if err != nil {
		return nil, err
	}
	lost := lostWith(ended)
	var kept record
	var stood []machine.Effect
	for i := range rec.events {
		e := &rec.events[i]
		if e.Kind == machine.Resumed && i >= first {
			rec.clean = append(rec.clean, e.Clean...) // what it took back stays taken back
		}
		counts, anew := rec.counts(e, effects[i], i >= first, lost)
		if anew {
			rec.clean = append(rec.clean, e.Task)
		}
		if !counts {
			undo = append(undo, rec.places[i])
			continue
		}
		kept.events, kept.places = append(kept.events, *e), append(kept.places, rec.places[i])
		stood = append(stood, effects[i])
	}
	rec.events, rec.places = kept.events, kept.places
	again, _, err := rec.effects()
	if err != nil {
		return nil, err
	}
	for i := range again {
		if again[i] == machine.Ignored && stood[i] != machine.Ignored {
			return nil, fmt.Errorf("run %q can't be taken up: event %d of its journal (%s of %s) does not fit what is left before it; this is an error in graphrun, please report it",
				rec.run.ID, rec.places[i], rec.events[i].Kind, rec.events[i].Task.Node)
		}
	}
	return undo, nil
}

// effects are what each event comes to, and the index of the one that the end of
// the run began with.
func (rec *record) effects() (effects []machine.Effect, first int, err error) {
	s, err := rec.from.restore(rec.flow.plan)
	if err != nil {
		return nil, 0, err
	}
	effects, first = make([]machine.Effect, len(rec.events)), len(rec.events)
	for i := range rec.events {
		if _, err := rec.flow.plan.Apply(s, rec.events[i]); err != nil {
			return nil, 0, err
		}
		effects[i] = s.Effect
		if first == len(rec.events) && s.Ending() {
			first = i
		}
	}
	return effects, first, nil
}

// loss is how an execution was lost. The zero value says that it was not.
type loss int

const (
	failedForGood loss = iota + 1
	cutOff
)

func lostWith(ended *machine.State) map[machine.TaskID]loss {
	lost := map[machine.TaskID]loss{}
	failures, cut := ended.Lost()
	for _, id := range failures {
		lost[id] = failedForGood
	}
	for _, id := range cut {
		lost[id] = cutOff
	}
	return lost
}

// counts reports whether an event counts when the run is taken up, and whether
// the attempt that it is about is then made anew. late says that the run was
// ending already.
func (rec *record) counts(e *machine.Event, effect machine.Effect, late bool, lost map[machine.TaskID]loss) (counts, anew bool) {
	execution := machine.TaskID{Node: e.Task.Node, Visit: e.Task.Visit}
	how := lost[execution]
	if late && rec.isFinal(e) {
		return false, false // it runs anew when the run ends anew
	}
	switch e.Kind {
	case machine.RunBegan, machine.TaskBegan, machine.TaskNoted:
		return true, false
	case machine.Answered:
		return true, false // what a person said is not lost
	case machine.TimerFired:
		if how == failedForGood && rec.unanswered(e) {
			return false, true // they are asked again, with their time
		}
		return !late, false
	case machine.Decided:
		return !late, late && e.Failure != nil
	case machine.TaskEnded:
		switch {
		case late:
			return e.Failure == nil && effect != machine.FailedForGood, false
		case effect == machine.FailedForGood && how == failedForGood:
			return false, !rec.isGraph(e.Task.Node)
		case effect == machine.CutOff && how != 0:
			return e.Failure == nil, false
		}
		return true, false
	}
	return !late, false
}

// unanswered reports whether an event is that nobody answered a human node in time.
func (rec *record) unanswered(e *machine.Event) bool {
	n := rec.flow.graph.Node(e.Task.Node)
	return e.Timer == machine.AnswerTimer && n != nil && n.Kind.Value == "human"
}

// isFinal reports whether an event is one of a node of finally. What its models
// cost was spent all the same.
func (rec *record) isFinal(e *machine.Event) bool {
	n := rec.flow.graph.Node(e.Task.Node)
	return n != nil && n.Final && (e.Kind != machine.TaskNoted || rec.isGraph(e.Task.Node))
}

// isGraph reports whether a node runs a subgraph: one goes on where it was.
func (rec *record) isGraph(node string) bool {
	n := rec.flow.graph.Node(node)
	return n != nil && n.Kind.Value == graphKind
}
