// Tasks on their way to workers.

package engine

import (
	"errors"
	"strconv"
	"time"

	common "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// mayLaunch reports whether there is something to launch, and room for it.
func (f *flight) mayLaunch() bool {
	return !f.moving && len(f.queue) > 0 && len(f.calls) < mostPending && !f.spent()
}

// spent reports whether the workflow task that is at work sends enough already.
func (f *flight) spent() bool {
	if at := workflow.GetInfo(f.ctx).GetCurrentHistoryLength(); at != f.sentAt {
		f.sent, f.sentAt = 0, at
	}
	return f.sent >= mostSent
}

// full reports whether what could be launched waits for the next workflow task.
func (f *flight) full() bool {
	return !f.moving && len(f.queue) > 0 && len(f.calls) < mostPending && f.spent()
}

// launch has an activity do what a call wants.
func (f *flight) launch(c *call) {
	ctx, cancel := workflow.WithCancel(f.ctx)
	f.cancels[c.id] = cancel
	queue := ofCore(f.host.start.Queue, f.host.start.Core)
	if c.queue != "" {
		queue = f.host.start.Queue + "-" + c.queue
	}
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: queue, StartToCloseTimeout: attemptTime, HeartbeatTimeout: f.heartbeat, WaitForCancellation: true,
		Summary: c.input.Place,
		// What fails here is a worker, not the node: its own retries are the machine's.
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 500 * time.Millisecond, MaximumInterval: 30 * time.Second},
	})
	// Elements and branches see the same state: it is worth to be kept once.
	input, err := f.pack(c.input, false)
	state, wrong := f.pack(c.state, c.input.Index >= 0 || len(f.queue) > 8)
	if err := errors.Join(err, wrong); err != nil {
		c.result = failed("internal", "a task can't be sent: "+err.Error())
		f.inbox = append(f.inbox, &mail{call: c})
		return
	}
	c.future = workflow.ExecuteActivity(ctx, taskName, input, state)
}

// pack makes a payload and counts it. One that others share is kept beside the history
// when it is a fraction of what others may have.
func (f *flight) pack(v any, shared bool) (converter.RawValue, error) {
	payload, err := converter.GetDefaultDataConverter().ToPayload(v)
	if err != nil {
		return converter.RawValue{}, err
	}
	if shared {
		mark(payload)
	}
	if kept(payload) {
		f.sent += len(payload.GetMetadata()) * 64
	} else {
		f.sent += len(payload.GetData())
	}
	return converter.NewRawValue(payload), nil
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
