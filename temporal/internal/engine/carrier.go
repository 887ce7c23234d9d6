// Carriers: workflows that have the tasks of a run done which would make its own history
// too long. They decide nothing: which tasks there are, the run says, and what they came
// to, it is told, many at a time.

package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

const (
	// mostAside is the part of the tasks at work whose ends may wait for others before the
	// run is told of them: one in so many.
	mostAside = 8
	// longestAside is how long they wait.
	longestAside = time.Second
	// idleTime is after how long a carrier that has nothing to do asks the run: what that
	// had for it was lost with a worker.
	idleTime = 10 * time.Second
)

// carrierStart is the input of a carrier.
type carrierStart struct {
	Core int `json:"core"`
	// Run is the workflow of the run, Home its workflow run.
	Run   string `json:"run"`
	Home  string `json:"home"`
	Cargo cargo  `json:"cargo"`
}

// cargo is what a run has for a carrier.
type cargo struct {
	Tasks []parcel `json:"tasks,omitempty"`
	// Cancel are the ids of tasks that the run does not want any more.
	Cancel []string `json:"cancel,omitempty"`
	// Number is that of a reply, from 1; 0: it came otherwise.
	Number int `json:"number,omitempty"`
	// End says that the run has no task with the carrier any more; Gone, that nobody waits
	// for those that it has.
	End  bool `json:"end,omitempty"`
	Gone bool `json:"gone,omitempty"`
}

// parcel is a task on its way to a worker.
type parcel struct {
	ID    string `json:"id"`
	Queue string `json:"queue"`
	Place string `json:"place"`
	// Input and State are the payloads as they stand in a history.
	Input []byte `json:"input"`
	State []byte `json:"state"`
}

// landing tells a run what tasks came to.
type landing struct {
	Carrier string  `json:"carrier"`
	Ends    []ended `json:"ends,omitempty"`
	// Got is the number of the last reply that the carrier has.
	Got int `json:"got,omitempty"`
}

// ended is what a task came to: the payload as it stands in a history, or why there is
// none.
type ended struct {
	ID        string `json:"id"`
	Result    []byte `json:"result,omitempty"`
	Cancelled bool   `json:"cancelled,omitempty"`
	Wrong     string `json:"wrong,omitempty"`
}

// carrier is a workflow that carries tasks.
type carrier struct {
	sender
	worker *Worker
	start  *carrierStart
	cargo  workflow.ReceiveChannel
	queue  []parcel
	work   []*carried
	// seen are the tasks that the run has given, dropped those among them, or to come,
	// that it does not want.
	seen, dropped map[string]bool
	ends          []ended
	since         time.Time // when the first of ends came
	delivery      workflow.Future
	got           int
	rings         bool // a timer has gone off
	timer         bool // one is open
	// end: the run has nothing more to do; gone: nor does it want to know of what there is.
	end, gone bool
}

// carried is a task at work.
type carried struct {
	id     string
	future workflow.Future
	cancel workflow.CancelFunc
}

// Carry is the workflow of a carrier.
func (w *Worker) Carry(ctx workflow.Context, start *carrierStart) error {
	if start.Core != w.core {
		panic(fmt.Sprintf(notMine+"it has core version %d, the run wants %d", w.core, start.Core))
	}
	own, _ := workflow.NewDisconnectedContext(ctx)
	c := &carrier{
		sender: sender{ctx: own, heartbeat: w.heartbeat}, worker: w, start: start,
		cargo: workflow.GetSignalChannel(own, signalCargo), seen: map[string]bool{}, dropped: map[string]bool{},
	}
	workflow.GoNamed(own, "cancel", func(own workflow.Context) {
		ctx.Done().Receive(own, nil) // the run is over, whatever has become of it
		c.take(cargo{End: true, Gone: true})
		c.rings = true
	})
	c.take(start.Cargo)
	for {
		if err := c.launch(); err != nil {
			return err
		}
		if c.end && len(c.work)+len(c.queue)+len(c.ends) == 0 && c.delivery == nil {
			return nil
		}
		c.deliver()
		c.rest()
		_ = workflow.Await(own, c.collect) // nothing cancels it
		if c.gone {
			c.ends = nil
		}
	}
}

// take takes what the run has for the carrier.
func (c *carrier) take(from cargo) {
	for _, id := range from.Cancel {
		c.dropped[id] = true
	}
	for _, p := range from.Tasks {
		if !c.seen[p.ID] { // else the reply before was thought to be lost
			c.seen[p.ID] = true
			c.queue = append(c.queue, p)
		}
	}
	c.got = max(c.got, from.Number)
	if from.Gone {
		c.gone, c.queue = true, nil
		for _, t := range c.work {
			c.dropped[t.id] = true
		}
	}
	c.end = c.end || from.End
	for _, t := range c.work {
		if t.cancel != nil && c.dropped[t.id] {
			t.cancel()
			t.cancel = nil
		}
	}
}

// launch begins what waits, as much as a workflow task sends.
func (c *carrier) launch() error {
	for len(c.queue) > 0 && !c.spent() {
		p := c.queue[0]
		c.queue = c.queue[1:]
		if c.dropped[p.ID] {
			c.ends = append(c.ends, ended{ID: p.ID, Cancelled: true})
			continue
		}
		future, cancel, err := c.send(&p)
		if err != nil {
			return err
		}
		c.work = append(c.work, &carried{p.ID, future, cancel})
	}
	return nil
}

// deliver tells the run what has ended, when that is worth it: each time costs the run
// five events, and while it decides others end.
func (c *carrier) deliver() {
	now := workflow.Now(c.ctx)
	if len(c.ends) > 0 && c.since.IsZero() {
		c.since = now
	}
	idle := len(c.work)+len(c.queue) == 0
	enough := idle || len(c.ends)*mostAside >= len(c.work) || now.Sub(c.since) >= longestAside
	if c.delivery != nil || c.end || len(c.ends) == 0 && !(idle && c.rings) || !enough {
		c.rings = false
		return
	}
	c.rings = false
	batch := landing{Carrier: workflow.GetInfo(c.ctx).WorkflowExecution.ID, Ends: c.ends, Got: c.got}
	c.ends, c.since = nil, time.Time{}
	ctx := workflow.WithLocalActivityOptions(c.ctx, workflow.LocalActivityOptions{
		ScheduleToCloseTimeout: attemptTime, StartToCloseTimeout: time.Hour,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: 30 * time.Second},
	})
	c.delivery = workflow.ExecuteLocalActivity(ctx, c.worker.Deliver, c.start.Run, c.start.Home, batch)
}

// rest sees to it that the carrier wakes when something is due.
func (c *carrier) rest() {
	var after time.Duration
	switch {
	case c.timer || c.delivery != nil || c.end:
		return
	case len(c.queue) > 0:
		after = time.Millisecond
	case len(c.ends) > 0:
		after = longestAside
	case len(c.work) == 0:
		after = idleTime
	default:
		return
	}
	c.timer = true
	timer := workflow.NewTimer(c.ctx, after)
	workflow.Go(c.ctx, func(own workflow.Context) {
		_ = timer.Get(own, nil) // nothing cancels it
		c.timer, c.rings = false, true
	})
}

// collect looks for what has come.
func (c *carrier) collect() bool {
	news := c.rings
	for from := (cargo{}); c.cargo.ReceiveAsync(&from); from = (cargo{}) {
		c.take(from)
		news = true
	}
	if c.delivery != nil && c.delivery.IsReady() {
		var reply cargo
		if err := c.delivery.Get(c.ctx, &reply); err != nil {
			reply = cargo{End: true, Gone: true}
		}
		c.delivery, news = nil, true
		c.take(reply)
	}
	c.work = slices.DeleteFunc(c.work, func(t *carried) bool {
		if !t.future.IsReady() {
			return false
		}
		c.ends = append(c.ends, c.endOf(t))
		news = true
		return true
	})
	return news
}

// endOf is what a task came to that has ended.
func (c *carrier) endOf(t *carried) ended {
	var raw converter.RawValue
	err := t.future.Get(c.ctx, &raw)
	var cancelled *temporal.CanceledError
	switch {
	case errors.As(err, &cancelled):
		return ended{ID: t.id, Cancelled: true}
	case err != nil:
		return ended{ID: t.id, Wrong: err.Error()}
	}
	text, err := c.worker.stored(c.ctx, raw)
	if err != nil {
		return ended{ID: t.id, Wrong: err.Error()}
	}
	return ended{ID: t.id, Result: text}
}

// Deliver is the local activity that tells a run what tasks came to.
func (w *Worker) Deliver(ctx context.Context, run, home string, batch landing) (reply cargo, err error) {
	err = w.update(ctx, workflowRun{run, home}, updateLanded, batch, &reply)
	var gone *serviceerror.NotFound
	if errors.As(err, &gone) {
		return cargo{End: true, Gone: true}, nil
	}
	return reply, err
}
