// Steps that subgraphs at once share (GraphSpec §5).

package runner

import (
	"sync"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/virtual"
)

// stepPool is what the subgraphs of a run may still take of its steps. Pools of
// runs inside each other share one lock.
type stepPool struct {
	mu    *sync.Mutex
	ready *sync.Cond
	// waiting are those who wait on a virtual clock, the first one first.
	waiting *[]func()
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
	// known are the steps of tasks that had begun before this run was taken up: the
	// runs around have counted them with its own.
	known map[machine.TaskID]int
	pace  *virtual.Clock
}

func newStepPool(nested *nesting) *stepPool {
	p := &stepPool{running: map[machine.TaskID]int{}, unread: map[machine.TaskID]bool{}, known: map[machine.TaskID]int{}}
	if nested == nil {
		p.mu = &sync.Mutex{}
		p.ready, p.waiting = sync.NewCond(p.mu), new([]func())
		return p
	}
	around := nested.parent.pool
	p.mu, p.ready, p.waiting = around.mu, around.ready, around.waiting
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
	p.running[id] = p.known[id]
	if _, known := p.known[id]; again && !known {
		p.unread[id] = true
	}
}

// took says how many steps a task that runs again had taken.
func (p *stepPool) took(id machine.TaskID, steps int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.known[id]; known {
		delete(p.known, id)
		return
	}
	p.add(id, steps)
	p.isRead(id)
}

func (p *stepPool) isRead(id machine.TaskID) {
	delete(p.unread, id)
	waiting := *p.waiting
	*p.waiting = nil
	for _, goOn := range waiting {
		goOn()
	}
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
func (p *stepPool) await() {
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

// takenBefore are the steps that a run which is taken up has taken, and the
// subgraphs that run in it, however deep: counted at once, since whoever runs
// beside them may take the last step before they are taken up themselves.
func (d *driver) takenBefore() (int, error) {
	inside, err := d.flow.takenInside(d.state)
	steps := d.state.Steps + d.state.ChildSteps
	for id, n := range inside { //lint:ignore mapiter a sum
		steps += n
		d.pool.known[id] = n
	}
	return steps, err
}

// takenInside are the steps of the subgraphs that a run was running, by task, as
// far as they are not counted.
func (f *Flow) takenInside(s *machine.State) (map[machine.TaskID]int, error) {
	out := map[machine.TaskID]int{}
	for _, id := range s.Attempts() {
		child := f.children[id.Node]
		log, counted := s.Noted(id)
		if child == nil || len(log) == 0 {
			continue
		}
		rec, _, err := readLog(child, log)
		if err != nil {
			return nil, err
		}
		state, err := rec.comesBackTo()
		if err != nil {
			return nil, err
		}
		inside, err := child.takenInside(state)
		if err != nil {
			return nil, err
		}
		out[id] = state.Steps + state.ChildSteps - counted
		for _, n := range inside { //lint:ignore mapiter a sum
			out[id] += n
		}
	}
	return out, nil
}

// comesBackTo is the state in which a subgraph is taken up.
func (rec *record) comesBackTo() (*machine.State, error) {
	state, err := rec.walked()
	if err != nil || !state.Ending() || state.Status == machine.Completed {
		return state, err
	}
	if _, err := rec.rewind(state); err != nil {
		return nil, err
	}
	return rec.walked()
}

// walked is the state after all events of a record.
func (rec *record) walked() (*machine.State, error) {
	state, err := rec.from.restore(rec.flow.plan)
	for i := 0; i < len(rec.events) && err == nil; i++ {
		_, err = rec.flow.plan.Apply(state, rec.events[i])
	}
	return state, err
}

// takeSteps answers a subgraph that asks for steps.
func (d *driver) takeSteps(wanted int) {
	got, above := d.nested.parent.pool.take(d.nested.task, wanted)
	d.queue = append(d.queue, machine.Event{
		Kind: machine.StepsGranted, At: d.now(), Steps: got, Above: above,
	})
}
