// One execution of a node: what it produces, whether as data or as text, how it fails.

package machine

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"strconv"
	"time"

	"github.com/graphrun/graphrun/internal/bind"
)

// runSet evaluates the assignments of a set node in order; later ones see
// earlier ones, the other tasks of the superstep do not.
func (p *Plan) runSet(s *State, t *task, n *node) {
	s.setOwn(n, t)
	writes, failure := p.assignAll(s, n, t.writes[:0])
	t.writes = writes
	if failure != nil {
		p.fail(s, t, failure)
		return
	}
	out := s.newObject()
	for i := range writes {
		out.set(p.keys[writes[i].key].name, writes[i].update)
	}
	out.sort()
	p.succeed(s, t, out)
}

// assignAll evaluates the assignments of a set node and appends their writes.
func (p *Plan) assignAll(s *State, n *node, writes []write) (_ []write, failure *Failure) {
	undo := s.undo[:0]
	for i := range n.set {
		a := &n.set[i]
		value, err := a.value.Eval(&s.vm, s.env)
		if err != nil {
			failure = &Failure{Kind: "expression", Message: "set." + p.keys[a.key].name + ": " + err.Error()}
			break
		}
		if writes, failure = p.addWrite(s, writes, a.key, value); failure != nil {
			break
		}
		if i < len(n.set)-1 {
			undo = append(undo, s.swap(p, a.key, p.preview(s, &writes[len(writes)-1])))
		}
	}
	for i := len(undo) - 1; i >= 0; i-- {
		s.restore(p, undo[i])
	}
	s.undo = undo
	return writes, failure
}

// runFail fails with the node's message.
func (p *Plan) runFail(s *State, t *task, n *node) {
	s.setOwn(n, t)
	config, err := bind.EvalFields(n.config, &s.vm, s.env)
	if err != nil {
		p.fail(s, t, &Failure{Kind: "expression", Message: err.Error()})
		return
	}
	message, _ := config["message"].(string)
	p.fail(s, t, &Failure{Kind: "failed", Message: message})
}

// work is what the driver needs to run the task, or an element of it (-1: no element).
func (p *Plan) work(s *State, t *task, element int) (*Work, *Failure) {
	n := &p.nodes[t.node]
	s.setOwn(n, t)
	config, err := bind.EvalFields(n.config, &s.vm, s.env)
	if err != nil {
		return nil, &Failure{Kind: "expression", Message: err.Error()}
	}
	work := &Work{
		Kind: n.kind, Step: t.step, Key: s.idempotencyKey(n.id, t.visit, element), Index: element,
		Config: config, Input: s.inputOf(t), State: s.readable(n), Timeout: p.timeoutOf(t.node),
		StepsLeft: s.stepsLeft(), SharesSteps: p.sharesSteps(s, t), Talk: p.talkFor(s, t), Turns: t.earlierTurns(),
	}
	if element >= 0 {
		work.Item, work.Elements = t.each.items[element], len(t.each.items)
	}
	if n.kind == "graph" {
		work.PauseBefore, work.PauseAfter = inside(s.breakBefore, n.id), inside(s.breakAfter, n.id)
	}
	if n.cache != nil {
		if failure := p.cacheKey(s, n, work); failure != nil {
			return nil, failure
		}
	}
	return work, nil
}

// idempotencyKey names one execution of a node: the same for all its attempts.
func (s *State) idempotencyKey(node string, visit, element int) string {
	scope := s.RunID
	if s.parent != nil {
		scope = s.parent.Key
	}
	sum := sha256.Sum256([]byte(scope + "\x00" + node + "\x00" + strconv.Itoa(visit) + "\x00" + strconv.Itoa(element) + "\x00-1"))
	return hex.EncodeToString(sum[:16])
}

// taskEnded takes what the driver says a task came to.
func (p *Plan) taskEnded(s *State, e *Event) {
	t := s.find(e.Task)
	switch {
	case t == nil:
		return
	case t.each != nil:
		if p.elementEnded(s, t, e) {
			p.afterTask(s)
		}
		return
	case t.status != running:
		return
	}
	p.executionEnded(s, t, e)
	s.Effect = t.taskEffect()
	p.afterTask(s)
}

// executionEnded takes what the attempt of a running task came to.
func (p *Plan) executionEnded(s *State, t *task, e *Event) {
	if p.timeoutOf(t.node) > 0 {
		s.command(Command{Kind: StopTimer, Timer: TaskTimer, Task: e.Task})
	}
	if e.Partial != nil {
		s.memory.keepPartial(t.node, e.Partial)
	}
	if e.Reason != "" || s.memory.reason != nil {
		s.memory.keepReason(t.node, e.Reason)
	}
	t.cached = e.Cached
	s.runningTasks--
	s.countChild(e.Child, t.asked)
	switch {
	case t.cause != nil && t.cause.Kind == "cancelled", e.Child != nil && e.Child.OutOfSteps:
		t.status, t.lost = dropped, t.lost || t.cause == nil
		t.asked = t.asked.countedTo(e.Child)
		s.cutShort(t)
		s.showPartial(t.node)
	case t.cause != nil:
		failure := *t.cause
		if e.Failure != nil {
			failure.Details = e.Failure.Details
		}
		t.cause = nil
		p.fail(s, t, &failure)
	case e.Failure != nil:
		failure := *e.Failure
		t.asked = t.asked.countedTo(e.Child)
		p.fail(s, t, &failure)
	case e.Park != nil:
		p.parkAsking(s, t, e)
	default:
		before := p.listen(s, t, talkOf(e, &p.nodes[t.node]))
		p.succeed(s, t, e.Output)
		if t.status != succeeded {
			t.thread = before
		}
	}
}

// afterTask fills the room that a task has left.
func (p *Plan) afterTask(s *State) {
	if s.closing == nil {
		p.settleEarly(s)
		p.startReady(s)
	}
	p.settle(s)
}

// succeed takes an execution's output: checked, then turned into writes.
func (p *Plan) succeed(s *State, t *task, output any) {
	n := &p.nodes[t.node]
	t.output = output
	if failure := p.checkOutput(s, t, n); failure != nil {
		t.output, t.writes = nil, t.writes[:0]
		p.fail(s, t, failure)
		return
	}
	t.status, t.order = succeeded, s.nextOrder()
	s.noteCompleted(t)
}

func (p *Plan) checkOutput(s *State, t *task, n *node) *Failure {
	if n.schema != nil && n.each == nil { // of an `each`, every element has been checked
		t.output = n.schema.Normalise(Plain(t.output))
		if err := n.schema.Check(t.output); err != nil {
			return &Failure{Kind: "invalid_output", Message: "output does not fit its schema: " + err.Error()}
		}
	}
	if n.hasEnds && n.gotoExpr == nil {
		if _, failure := p.outputTargets(n, t.output); failure != nil {
			return failure
		}
	}
	if len(n.writeKeys) > 0 || len(n.writes) > 0 {
		if failure := p.collectWrites(s, t, n); failure != nil {
			return failure
		}
	}
	if n.gotoExpr != nil {
		if failure := p.checkGoto(s, t, n); failure != nil {
			return failure
		}
	}
	if len(n.emit) > 0 {
		s.setOwn(n, t)
		values, err := bind.EvalFields(n.emit, &s.vm, s.env)
		if err != nil {
			return &Failure{Kind: "expression", Message: "emit: " + err.Error()}
		}
		s.noteEmitted(t, values)
	}
	return nil
}

// fail tries again when the retry policy says so, else it fails the execution.
func (p *Plan) fail(s *State, t *task, failure *Failure) {
	n := &p.nodes[t.node]
	failure.Node, failure.Attempt = n.id, t.attempt
	if t.each != nil { // its elements had their attempts; another one would bring the same list
		p.failFinal(s, t, failure)
		return
	}
	if next, again := p.retryDelay(s, t, -1, t.attempt, failure); again {
		t.status, t.until, t.writes = delayed, s.after(next.Delay), t.writes[:0]
		if t.asked != nil && t.asked.any {
			t.asked = nil // another attempt is another subgraph
		}
		s.waitingTasks++
		t.newTurns()
		s.noteRetrying(t, failure, next)
		s.command(Command{Kind: StartTimer, Timer: RetryTimer, Task: s.taskID(t), For: next.Delay})
		return
	}
	p.failFinal(s, t, failure)
}

// failFinal fails the execution for good.
func (p *Plan) failFinal(s *State, t *task, failure *Failure) {
	n := &p.nodes[t.node]
	failure.Node = n.id
	t.status, t.failure, t.order = failed, failure, s.nextOrder()
	t.writes = t.writes[:0]
	s.noteFailed(t)
	if !n.catches() && !s.entering {
		s.cancelSiblings(t)
	}
}

func (s *State) nextOrder() int {
	s.order++
	return s.order
}

// after is the moment a delay from now, or the last there is.
func (s *State) after(delay time.Duration) int64 {
	return s.now + min(int64(delay), math.MaxInt64-max(0, s.now))
}

// WantsText returns what the handler of a node asks about an output that can be
// read both ways: where only text fits what is written, it is text. An object
// that holds the key it is written to, with a value that fits, is data all the
// same. Any goroutine may call the function; nil: it is always data.
func (p *Plan) WantsText(node string) func(data any, text string) bool {
	decl := p.Graph.Node(node)
	if decl == nil || decl.Kind.Value != "exec" {
		return nil
	}
	n := &p.nodes[decl.Index]
	if !n.textOnly && n.schema == nil && len(n.writeKeys) == 0 {
		return nil
	}
	return func(data any, text string) bool {
		if n.textOnly {
			_, isObject := data.(map[string]any)
			return !isObject || len(n.writeKeys) == 0 || !p.fits(n, data)
		}
		return !p.fits(n, data) && p.fits(n, text)
	}
}

// fits reports whether the schemas allow an output and what its list of writes
// makes of it.
func (p *Plan) fits(n *node, output any) bool {
	if n.schema != nil {
		output = n.schema.Normalise(output)
		if n.schema.Check(output) != nil {
			return false
		}
	}
	if n.each != nil {
		output = []any{output}
	}
	object, _ := output.(map[string]any)
	for _, i := range n.writeKeys {
		k := &p.keys[i]
		value, has := object[k.name]
		if !has {
			if len(n.writeKeys) > 1 {
				return false
			}
			value = output
		}
		if !k.takes(value) {
			return false
		}
	}
	return true
}

// takes reports whether a key's schema allows an update, as far as that can be
// said without the key's value.
func (k *key) takes(update any) bool {
	switch k.reducer {
	case reduceReplace, reduceMin, reduceMax:
		return k.schema.Check(k.schema.Normalise(update)) == nil
	case reduceAppend, reducePrepend, reduceUnion:
		items, isList := k.schema.Normalise(listOf(update)).([]any)
		return isList && k.schema.CheckAppended(items, 0) == nil
	case reduceSum:
		_, isNumber := number(update)
		return isNumber
	case reduceMerge:
		_, isObject := update.(map[string]any)
		return isObject
	}
	return true
}
