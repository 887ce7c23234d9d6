// Runs that ended badly are taken up where their end began.

package journal

import (
	"fmt"
	"slices"

	"github.com/graphrun/graphrun/runner/machine"
)

// Comeback is how a run is taken up that ended badly, or was ending when its driver
// vanished.
type Comeback struct {
	// Undo are the places of the events that count no more: of those from the one on
	// that the end began with, all but what was done and said.
	Undo []int
	// revive are the executions that the run was lost with; clean, the decisions.
	revive, clean []machine.TaskID
	// endings is how often nodes of finally ran for ends that are taken back.
	endings int
	// Told is the number of the last event that was told before.
	Told int64
}

// Rewind takes the end of a run back. Every event before its end stands. The error
// says that an event which stands would not be taken without those that do not: the
// run is then left as it is.
func (r *Reading) Rewind(ended *machine.State) (*Comeback, error) {
	back := &Comeback{}
	// What is left of finally still runs.
	if !ended.Ending() || ended.InFinally() && !(r.nested && ended.EndsFromOutside()) {
		return back, nil
	}
	back.endings = ended.Endings()
	effects, first, err := r.effects()
	if err != nil {
		return nil, err
	}
	var kept Reading
	var stood []machine.Effect
	for i := range r.Events {
		e := &r.Events[i]
		if i >= first && !r.stands(e, effects[i]) {
			back.Undo = append(back.Undo, r.places[i])
			back.add(e)
			continue
		}
		kept.Events, kept.places = append(kept.Events, *e), append(kept.places, r.places[i])
		stood = append(stood, effects[i])
	}
	back.revive = append(back.revive, ended.Lost()...)
	r.Events, r.places = kept.Events, kept.places
	again, _, err := r.effects()
	if err != nil {
		return nil, err
	}
	for i := range again {
		if again[i] == machine.Ignored && stood[i] != machine.Ignored {
			return nil, fmt.Errorf("run %q can't be taken up: event %d of its journal (%s of %s) does not fit what is left before it; this is an error in graphrun, please report it",
				r.RunID, r.places[i], r.Events[i].Kind, r.Events[i].Task.Node)
		}
	}
	return back, nil
}

// effects are what each event comes to, and the index of the one that the end of
// the run began with.
func (r *Reading) effects() (effects []machine.Effect, first int, err error) {
	s, err := r.Begin()
	if err != nil {
		return nil, 0, err
	}
	effects, first = make([]machine.Effect, len(r.Events)), len(r.Events)
	for i := range r.Events {
		if _, err := r.Plan.Apply(s, r.Events[i]); err != nil {
			return nil, 0, err
		}
		effects[i] = s.Effect
		switch {
		case !s.Ending():
			first = len(r.Events)
		case first == len(r.Events):
			first = i
		}
	}
	return effects, first, nil
}

// stands reports whether an event of a run that was ending counts when the run is
// taken up: what was done and what a person said does. The nodes of finally run anew
// when the run ends anew.
func (r *Reading) stands(e *machine.Event, effect machine.Effect) bool {
	if r.isFinal(e) {
		return false
	}
	switch e.Kind {
	case machine.RunBegan, machine.TaskBegan, machine.TaskNoted, machine.Answered:
		return true
	case machine.TaskEnded:
		return e.Failure == nil && effect != machine.FailedForGood
	}
	return false
}

// add takes from an event that counts no more what the next comeback has to say.
func (b *Comeback) add(e *machine.Event) {
	switch {
	case e.Kind == machine.Resumed:
		b.revive, b.clean = append(b.revive, e.Revive...), append(b.clean, e.Clean...)
	case e.Kind == machine.Decided && e.Failure != nil:
		b.clean = append(b.clean, e.Task)
	}
}

// isFinal reports whether an event is one of a node of finally. What its models
// cost was spent all the same.
func (r *Reading) isFinal(e *machine.Event) bool {
	n := r.Graph.Node(e.Task.Node)
	return n != nil && n.Final && (e.Kind != machine.TaskNoted || n.Kind.Value == "graph")
}

// Event is the one with which the run goes on.
func (b *Comeback) Event(at int64, info *machine.RunInfo) *machine.Event {
	return &machine.Event{
		Kind: machine.Resumed, At: at, Run: info, Undo: b.Undo, Clean: b.clean, Endings: b.endings, Revive: slices.Compact(b.revive),
	}
}
