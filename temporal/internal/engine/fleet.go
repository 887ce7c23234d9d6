// The carriers of a run, as the run sees them.

package engine

import (
	"fmt"
	"slices"
	"time"

	common "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/proto"
)

const (
	// mostElements is how many elements an `each` may have whose tasks are activities of
	// the run's own workflow.
	mostElements = 1000
	// mostCarried is how many tasks a carrier gets in its life: with them its history has
	// some thousand events.
	mostCarried = 1000
)

// crew is the carriers of a run that have not ended, in the order in which they began.
type crew []*charge

// charge is one carrier.
type charge struct {
	id      string
	future  workflow.ChildWorkflowFuture // nil: it is yet to begin
	carried int                          // tasks that it was given
	open    int                          // of those, that have not ended
	cargo   cargo                        // for it
	landing int                          // how many times it tells what is not yet before the run
	owed    *mail                        // waits for a reply
	last    cargo                        // what the last reply said, until the carrier has it
	replies int
	ended   bool // it was told so
}

// board gives a task to a carrier with room, or to a new one.
func (f *flight) board(c *call, p parcel) {
	var k *charge
	if n := len(f.crew); n > 0 && !f.crew[n-1].ended && f.crew[n-1].carried < mostCarried {
		k = f.crew[n-1]
	} else {
		f.carriers++
		run := workflow.GetInfo(f.ctx).WorkflowExecution.RunID
		k = &charge{id: fmt.Sprintf("%s/%.8s-%d", f.host.start.Record.ID, run, f.carriers)}
		f.crew = append(f.crew, k)
	}
	k.cargo.Tasks = append(k.cargo.Tasks, p)
	k.carried++
	k.open++
	c.carrier = k
	f.aboard++
	f.cancels[c.id] = func() { k.cargo.Cancel = append(k.cargo.Cancel, c.id) }
}

// dispatch gives carriers what there is for them: with the reply that one waits for, or
// else as a signal.
func (f *flight) dispatch() {
	for _, k := range f.crew {
		switch {
		case k.future == nil:
			k.future = workflow.ExecuteChildWorkflow(workflow.WithChildOptions(f.ctx, workflow.ChildWorkflowOptions{
				WorkflowID: k.id, TaskQueue: ofCore(f.host.start.Queue, f.host.start.Core), WorkflowTaskTimeout: 20 * time.Second,
				ParentClosePolicy: enums.PARENT_CLOSE_POLICY_REQUEST_CANCEL, StaticSummary: "tasks of " + f.host.start.Record.ID,
			}), carrierName, &carrierStart{
				Core: f.host.start.Core, Run: f.host.start.Record.ID, Home: workflow.GetInfo(f.ctx).WorkflowExecution.RunID, Cargo: k.cargo,
			})
		case k.owed != nil:
			k.replies++
			k.last.Tasks, k.last.Cancel = append(k.last.Tasks, k.cargo.Tasks...), append(k.last.Cancel, k.cargo.Cancel...)
			k.ended = k.open == 0
			k.last.Number, k.last.End = k.replies, k.ended
			own := k.last
			k.owed.cargo, k.owed.over, k.owed = &own, true, nil
		case k.landing > 0: // the reply will have it
			continue
		case len(k.cargo.Tasks)+len(k.cargo.Cancel) > 0:
			k.future.SignalChildWorkflow(f.ctx, signalCargo, k.cargo)
		}
		k.cargo = cargo{}
	}
}

// landings is the handler of what a carrier tells. Its ends come before the run one by
// one, as those of activities do, and what tasks have noted before that.
func (f *flight) landings(ctx workflow.Context, batch landing) (*cargo, error) {
	f.takeNotes()
	if k := f.carrier(batch.Carrier); k != nil {
		k.landing++
	}
	for i := range batch.Ends {
		end := &batch.Ends[i]
		if c := f.find(end.ID); c != nil && c.carrier != nil && c.result == nil {
			c.result = f.resultOf(end)
			f.inbox = append(f.inbox, &mail{call: c})
		}
	}
	return f.deal(ctx, &mail{landing: &batch}).cargo, nil
}

// resultOf is what a task came to that was carried.
func (f *flight) resultOf(end *ended) *taskResult {
	if end.Cancelled {
		return failed("cancelled", "context canceled")
	}
	if end.Wrong != "" {
		return failed("internal", "activity: "+end.Wrong)
	}
	var payload common.Payload
	result := &taskResult{}
	err := proto.Unmarshal(end.Result, &payload)
	if err == nil {
		err = f.worker.within(f.ctx).FromPayload(&payload, result)
	}
	if err != nil {
		return failed("internal", "activity: "+err.Error())
	}
	return result
}

// owe notes that a carrier waits for what the run has for it.
func (f *flight) owe(m *mail) {
	k := f.carrier(m.landing.Carrier)
	if k == nil {
		m.cargo, m.over = &cargo{End: true, Gone: true}, true
		return
	}
	if k.owed != nil { // asked by a worker that was lost
		k.owed.cargo, k.owed.over = &cargo{}, true
	}
	k.landing--
	if k.owed = m; m.landing.Got >= k.replies {
		k.last = cargo{}
	}
}

// carrier is one that has not ended, by its id; nil: there is none.
func (f *flight) carrier(id string) *charge {
	if at := slices.IndexFunc(f.crew, func(k *charge) bool { return k.id == id }); at >= 0 {
		return f.crew[at]
	}
	return nil
}

// dismiss forgets carriers that have ended. Tasks that one still had are lost with it:
// somebody has ended it from outside.
func (f *flight) dismiss() {
	f.crew = slices.DeleteFunc(f.crew, func(k *charge) bool {
		if k.future == nil || !k.future.IsReady() {
			return false
		}
		why := "the workflow " + k.id + " was ended by the cluster"
		if err := k.future.Get(f.ctx, nil); err != nil {
			why += ": " + err.Error()
		}
		for _, c := range f.calls {
			if c.carrier == k && c.result == nil {
				c.result = failed("internal", why)
				f.inbox = append(f.inbox, &mail{call: c})
			}
		}
		if k.owed != nil {
			k.owed.cargo, k.owed.over = &cargo{End: true, Gone: true}, true
		}
		return true
	})
}

// within is the worker's converter for a workflow.
func (w *Worker) within(ctx workflow.Context) converter.DataConverter {
	if aware, ok := w.converter.(workflow.ContextAware); ok {
		return aware.WithWorkflowContext(ctx)
	}
	return w.converter
}

// stored is a value as its payload stands in a history: a large one is kept beside it.
func (w *Worker) stored(ctx workflow.Context, v any) ([]byte, error) {
	payload, err := w.within(ctx).ToPayload(v)
	if err != nil {
		return nil, err
	}
	return deterministic.Marshal(payload)
}

// deterministic writes the same value the same way, so that it has one digest.
var deterministic = proto.MarshalOptions{Deterministic: true}
