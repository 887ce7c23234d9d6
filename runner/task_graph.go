// Graphs that tasks call as tools.

package runner

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/machine"
)

// graphCall is a call of a graph by an attempt.
type graphCall struct {
	task machine.TaskID
	call int // from 1
}

// graphResult is the result of a called graph.
type graphResult struct {
	output  any
	failure *Failure
}

// openCall is a call that waits for its graph.
type openCall struct {
	done func(graphResult) // is called once
	wake func()            // says once that the call does not wait any more
}

// graphCalls counts the calls that an attempt makes side by side, and those of them that
// wait for a graph. When all wait, the attempt does nothing, and a virtual clock goes on.
type graphCalls struct {
	driver *driver
	task   machine.TaskID

	mu       sync.Mutex
	running  int // 0: one after the other
	waiting  int
	released bool // the clock does not wait for the attempt
}

// rest lets the clock go on if all calls wait. It reports whether they do.
func (c *graphCalls) rest() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.waiting > 0 && c.waiting >= max(c.running, 1)
	if all && !c.released {
		c.released = true
		c.driver.pace.Release()
	}
	return all
}

// add changes the number of calls that wait or run.
func (c *graphCalls) add(waiting, running int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting, c.running = c.waiting+waiting, c.running+running
	if waiting < 0 && c.released {
		c.released = false
		c.driver.pace.Hold()
	}
}

// allWait reports whether all calls of an attempt wait for graphs; nil: it calls none.
func (c *graphCalls) allWait() bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waiting > 0 && c.waiting >= max(c.running, 1)
}

// begin asks the driver for a graph. done is called with its result.
func (c *graphCalls) begin(call handler.GraphCall, done func(graphResult)) *openCall {
	open := &openCall{done, sync.OnceFunc(func() { c.add(-1, 0) })}
	c.add(1, 0)
	c.driver.send(message{call: open, event: machine.Event{
		Kind: machine.GraphCalled, At: c.driver.now(), Task: c.task, Graph: call.File, Call: call.Number + 1, Input: call.With,
	}})
	c.rest()
	return open
}

// call calls a graph and waits for its result.
func (c *graphCalls) call(ctx context.Context, call handler.GraphCall) (any, error) {
	woken, result := atomic.Bool{}, make(chan graphResult, 1)
	open := c.begin(call, func(r graphResult) { result <- r })
	defer c.driver.pace.Watch(func() bool { return ctx.Err() != nil && !woken.Load() })()
	select {
	case r := <-result: // it does not count as waiting any more
		return r.value()
	case <-ctx.Done():
		open.wake()
		woken.Store(true)
		return nil, ctx.Err()
	}
}

// value returns what the tool of the graph returns.
func (r graphResult) value() (any, error) {
	if r.failure != nil {
		return nil, r.failure
	}
	fields, _ := r.output.(map[string]any)
	return fields["output"], nil
}

// offerGraphs gives a task the means to call graphs.
func (d *driver) offerGraphs(id machine.TaskID, task *Task) {
	calls := &graphCalls{driver: d, task: id}
	d.beside[id] = calls
	task.Beside = func(change int) {
		if calls.add(0, change); calls.rest() {
			d.send(message{learn: []string{}}) // the driver looks whether the run pauses
		}
	}
	task.CallGraph = calls.call
}

// returnGraph gives an attempt the result of a graph that it called.
func (d *driver) returnGraph(c *machine.Command) {
	call := graphCall{c.Task, c.Call}
	if open := d.calls[call]; open != nil {
		open.wake()
		open.done(graphResult{c.Output, c.Failure})
		delete(d.calls, call)
	}
}
