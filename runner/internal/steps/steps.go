// Package steps shares the steps of a run among the subgraphs that run in it at once
// (GraphSpec §5).
package steps

import (
	"sync"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/virtual"
)

// Pool is what the subgraphs of a run may still take of its steps. Pools of
// runs inside each other share one lock.
type Pool struct {
	mu    *sync.Mutex
	ready *sync.Cond
	// waiting are those who wait on a virtual clock, the first one first.
	waiting *[]func()
	// outer is the pool of the run around, if steps are shared there too, and task
	// what runs this one in it.
	outer *Pool
	task  machine.TaskID
	// free is what the run has left, apart from what running has.
	free int
	// running counts the steps set aside for the tasks that run subgraphs, those
	// taken too; the machine counts them when the task has ended.
	running map[machine.TaskID]int
	// unread are the tasks that run again, of which it is not yet known how many
	// steps they had taken.
	unread map[machine.TaskID]bool
	// known are the steps of tasks that had begun before this run was taken up: the
	// runs around have counted them with its own.
	known map[machine.TaskID]int
	pace  *virtual.Clock
}

// New is the pool of a run of its own; pace is its clock if that is a virtual one.
func New(pace *virtual.Clock) *Pool {
	p := empty(pace)
	p.mu = &sync.Mutex{}
	p.ready, p.waiting = sync.NewCond(p.mu), new([]func())
	return p
}

// Inside is the pool of a subgraph that a task runs. With shares its steps are set aside
// here, too.
func (p *Pool) Inside(task machine.TaskID, shares bool) *Pool {
	inner := empty(p.pace)
	inner.mu, inner.ready, inner.waiting = p.mu, p.ready, p.waiting
	if shares {
		inner.outer, inner.task = p, task
	}
	return inner
}

func empty(pace *virtual.Clock) *Pool {
	return &Pool{running: map[machine.TaskID]int{}, unread: map[machine.TaskID]bool{}, known: map[machine.TaskID]int{}, pace: pace}
}

// Know says how many steps a task had taken before the run was taken up, of which the
// runs around it know.
func (p *Pool) Know(id machine.TaskID, steps int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known[id] = steps
}

// Begin makes room for a task that runs subgraphs. again says that it ran before.
func (p *Pool) Begin(s *machine.State, id machine.TaskID, again bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = s.StepsFree()
	p.running[id] = p.known[id]
	if _, known := p.known[id]; again && !known {
		p.unread[id] = true
	}
}

// Took says how many steps a task that runs again had taken.
func (p *Pool) Took(id machine.TaskID, steps int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.known[id]; known {
		delete(p.known, id)
		return
	}
	p.add(id, steps)
	p.isRead(id)
}

func (p *Pool) isRead(id machine.TaskID) {
	delete(p.unread, id)
	waiting := *p.waiting
	*p.waiting = nil
	for _, goOn := range waiting {
		goOn()
	}
	p.ready.Broadcast()
}

// add sets steps aside here and in the runs around.
func (p *Pool) add(id machine.TaskID, steps int) {
	for at := p; at != nil; at, id = at.outer, at.task {
		at.running[id] += steps
	}
}

// Take sets aside so many steps for a task, or as many as there are; above says
// whose limit allows no more, 1 being that of the run of this pool.
func (p *Pool) Take(id machine.TaskID, wanted int) (got, above int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.reading() {
		p.await()
	}
	got, level := wanted, 0
	for at := p; at != nil; at = at.outer {
		level++
		left := at.free
		for _, steps := range at.running { //lint:ignore mapiter a sum
			left -= steps
		}
		if left = max(0, left); left < wanted && left <= got {
			got, above = left, level
		}
	}
	p.add(id, got)
	return got, above
}

// await waits for news of the others, who work meanwhile. On a virtual clock those who
// wait go on one after the other, as they began.
func (p *Pool) await() {
	if p.pace == nil {
		p.ready.Wait()
		return
	}
	news := make(chan struct{})
	*p.waiting = append(*p.waiting, func() { p.pace.QueueUp(news) })
	p.mu.Unlock()
	p.pace.Release()
	<-news
	p.mu.Lock()
}

// reading reports whether steps that were taken before are not yet known of.
func (p *Pool) reading() bool {
	for at := p; at != nil; at = at.outer {
		if len(at.unread) > 0 {
			return true
		}
	}
	return false
}

// End takes a task's subgraphs out of the pool while settle lets the machine count
// their steps. What was set aside and not taken goes back.
func (p *Pool) End(s *machine.State, id machine.TaskID, settle func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := s.ChildSteps
	settle()
	if aside, shared := p.running[id]; shared && p.outer != nil {
		p.outer.add(p.task, s.ChildSteps-before-aside)
	}
	delete(p.running, id)
	p.free = s.StepsFree()
	p.isRead(id)
}
