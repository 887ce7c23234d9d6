// Graphs that tasks call as tools.

package runner

import (
	"context"
	"sync"

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
	done func(graphResult) // called once
	wake func()            // marks once that the call no longer waits
}

// graphCalls counts the concurrent calls of an attempt, and how many of them wait for a graph.
type graphCalls struct {
	driver *driver
	task   machine.TaskID

	mu      sync.Mutex
	running int // 0 if calls are sequential
	waiting int
}

// addCounts adds to the numbers of waiting and running calls. It returns by how much the number of
// parallel parts of the attempt changed.
func (c *graphCalls) addCounts(waiting, running int) (parts int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := max(c.running, 1)
	c.waiting, c.running = c.waiting+waiting, c.running+running
	return max(c.running, 1) - before
}

// areAllWaiting reports whether all calls of an attempt wait for graphs. It is false for nil.
func (c *graphCalls) areAllWaiting() bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waiting > 0 && c.waiting >= max(c.running, 1)
}

// beginCall asks the driver to run a graph and to call done with the result.
func (c *graphCalls) beginCall(call handler.GraphCall, done func(graphResult)) *openCall {
	d := c.driver
	open := &openCall{done, sync.OnceFunc(func() {
		c.addCounts(-1, 0)
		d.virtualClock.AddWork(1)
	})}
	c.addCounts(1, 0)
	event := machine.Event{Kind: machine.GraphCalled, At: d.now(), Task: c.task, Graph: call.File, Call: call.Number + 1, Input: call.With}
	d.sendMessage(func() *machine.Event {
		d.calls[graphCall{event.Task, event.Call}] = open
		return &event
	})
	d.virtualClock.AddWork(-1)
	return open
}

func (c *graphCalls) callGraph(ctx context.Context, call handler.GraphCall) (any, error) {
	result := make(chan graphResult, 1)
	open := c.beginCall(call, func(r graphResult) { result <- r })
	select {
	case r := <-result: // the call no longer counts as waiting
		return r.outputOrError()
	case <-ctx.Done():
		open.wake()
		return nil, ctx.Err()
	}
}

// outputOrError returns the output or failure as a tool's result.
func (r graphResult) outputOrError() (any, error) {
	if r.failure != nil {
		return nil, r.failure
	}
	fields, _ := r.output.(map[string]any)
	return fields["output"], nil
}

func (d *driver) enableGraphCalls(id machine.TaskID, task *Task) {
	calls := &graphCalls{driver: d, task: id}
	d.graphCalls[id] = calls
	task.AddParallel = func(change int) {
		parts := calls.addCounts(0, change)
		d.sendMessage(func() *machine.Event { return nil }) // makes the driver check whether the run pauses
		d.virtualClock.AddWork(parts)
	}
	task.CallGraph = calls.callGraph
}

// returnGraph passes the result of a called graph to the attempt that called it.
func (d *driver) returnGraph(c *machine.Command) {
	call := graphCall{c.Task, c.Call}
	if open := d.calls[call]; open != nil {
		open.wake()
		open.done(graphResult{c.Output, c.Failure})
		delete(d.calls, call)
	}
}
