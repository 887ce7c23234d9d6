// Tasks on their way to workers.

package engine

import (
	"errors"
	"reflect"
	"strconv"
	"time"

	common "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// spent reports whether the workflow task that is at work sends enough already.
func (f *workflowRun) spent() bool {
	if at := workflow.GetInfo(f.ctx).GetCurrentHistoryLength(); at != f.sentAt {
		f.sent, f.sentAt = 0, at
	}
	return f.sent >= maxSent
}

// count counts a payload. Of one that is kept beside the history its digest is sent.
func (f *workflowRun) count(p *common.Payload) {
	if kept(p) {
		f.sent += len(p.GetMetadata()) * 64
	} else {
		f.sent += len(p.GetData())
	}
}

// begin has an activity do a task.
func (f *workflowRun) begin(queue, place string, input, state *common.Payload) (workflow.Future, workflow.CancelFunc) {
	ctx, cancel := workflow.WithCancel(f.ctx)
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: queue, StartToCloseTimeout: attemptTime, HeartbeatTimeout: f.worker.heartbeat, WaitForCancellation: true,
		Summary: place,
		// What fails here is a worker, not the node: its own retries are the machine's.
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 500 * time.Millisecond, MaximumInterval: 30 * time.Second},
	})
	f.count(input)
	f.count(state)
	return workflow.ExecuteActivity(ctx, taskName, converter.NewRawValue(input), converter.NewRawValue(state)), cancel
}

// mayLaunch reports whether there is something to launch, and room for it.
func (f *workflowRun) mayLaunch() bool {
	return f.hasRoom() && !f.spent()
}

// hasRoom reports whether there is something to launch that a workflow task could send.
func (f *workflowRun) hasRoom() bool {
	return !f.moving && len(f.queue) > 0 && len(f.calls) < maxPending
}

// full reports whether what could be launched waits for the next workflow task.
func (f *workflowRun) full() bool {
	return f.hasRoom() && f.spent()
}

// launch has an activity do what a call wants.
func (f *workflowRun) launch(c *call) {
	start := f.host.start
	queue := ofCore(start.Queue, start.Core)
	if c.queue != "" {
		queue = start.Queue + "-" + c.queue
	}
	input, err := converter.GetDefaultDataConverter().ToPayload(c.input)
	// Elements and branches see the same state: it is worth to be kept once.
	state, wrong := f.packState(c.state, c.input.Task.Index >= 0 || len(f.queue) > 8)
	if err := errors.Join(err, wrong); err != nil {
		c.result = failed("internal", "a task can't be sent: "+err.Error())
		f.post(func() { f.taskEnded(c) })
		return
	}
	c.future, f.cancels[c.id] = f.begin(queue, c.input.Task.Place, input, state)
}

// packState makes a payload of what a task sees of the state. One that others share is
// kept beside the history when it is a fraction of what others may have, and made once.
func (f *workflowRun) packState(s *taskState, shared bool) (*common.Payload, error) {
	if shared && f.packed != nil && reflect.DeepEqual(s.State, f.seen) {
		return f.packed, nil
	}
	payload, err := converter.GetDefaultDataConverter().ToPayload(s)
	if err != nil || !shared {
		return payload, err
	}
	mark(payload)
	f.seen, f.packed = s.State, payload
	return payload, nil
}

// mark says of a payload that others share it.
func mark(p *common.Payload) { p.Metadata[sharedMetadata] = []byte(strconv.FormatBool(true)) }

// kept reports whether a payload goes to the payload store.
func kept(p *common.Payload) bool {
	if _, shared := p.GetMetadata()[sharedMetadata]; shared {
		return len(p.GetData()) >= largestShared
	}
	return len(p.GetData()) >= largestPayload
}
