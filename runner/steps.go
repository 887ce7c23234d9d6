// Steps that subgraphs at once share (GraphSpec §5).

package runner

import (
	"sync"

	"github.com/graphrun/graphrun/runner/machine"
)

// stepPool is what the subgraphs of a run may still take of its steps. Pools of
// runs inside each other share one lock.
type stepPool struct {
	mu    *sync.Mutex
	ready *sync.Cond
	// outer is the pool of the run around, if steps are shared there too, and task
	// what runs this one in it.
	outer *stepPool
	task  machine.TaskID
	// free is what the run has left, apart from what running has.
	free int
	// running counts the steps set aside for the tasks that run subgraphs, those
	// taken too; the machine counts them when the task has ended.
	running map[machine.TaskID]int
	// unread are the tasks that run again, of which it is not yet known how many
	// steps they had taken.
	unread map[machine.TaskID]bool
}

func newStepPool(nested *nesting) *stepPool {
	p := &stepPool{running: map[machine.TaskID]int{}, unread: map[machine.TaskID]bool{}}
	if nested == nil {
		p.mu = &sync.Mutex{}
		p.ready = sync.NewCond(p.mu)
		return p
	}
	around := nested.parent.pool
	p.mu, p.ready = around.mu, around.ready
	if nested.shares {
		p.outer, p.task = around, nested.task
	}
	return p
}

// begin makes room for a task that runs subgraphs. again says that it ran before.
func (p *stepPool) begin(s *machine.State, id machine.TaskID, again bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = s.StepsFree()
	p.running[id] = 0
	if again {
		p.unread[id] = true
	}
}

// took says how many steps a task that runs again had taken.
func (p *stepPool) took(id machine.TaskID, steps int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.add(id, steps)
	p.isRead(id)
}

func (p *stepPool) isRead(id machine.TaskID) {
	delete(p.unread, id)
	p.ready.Broadcast()
}

// add sets steps aside here and in the runs around.
func (p *stepPool) add(id machine.TaskID, steps int) {
	for at := p; at != nil; at, id = at.outer, at.task {
		at.running[id] += steps
	}
}

// take sets aside so many steps for a task, or as many as there are; above says
// whose limit allows no more, 1 being that of the run of this pool.
func (p *stepPool) take(id machine.TaskID, wanted int) (got, above int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.reading() {
		p.ready.Wait()
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

// reading reports whether steps that were taken before are not yet known of.
func (p *stepPool) reading() bool {
	for at := p; at != nil; at = at.outer {
		if len(at.unread) > 0 {
			return true
		}
	}
	return false
}

// end takes a task's subgraphs out of the pool while settle lets the machine count
// their steps. What was set aside and not taken goes back.
func (p *stepPool) end(s *machine.State, id machine.TaskID, settle func()) {
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

// takeSteps answers a subgraph that asks for steps.
func (d *driver) takeSteps(wanted int) {
	got, above := d.nested.parent.pool.take(d.nested.task, wanted)
	d.queue = append(d.queue, machine.Event{
		Kind: machine.StepsGranted, At: d.clock.Now().UnixNano(), Steps: got, Above: above,
	})
}
