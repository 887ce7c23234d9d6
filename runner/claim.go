// Questions of subgraphs are answered, or their time is over, never both.

package runner

import (
	"strconv"
	"sync"

	"github.com/graphrun/graphrun/runner/machine"
)

// claims say what settles a question of a subgraph: an answer that the outermost run
// takes, or the end of its time, which the subgraph's own driver sees. Whichever claims
// a question first has it, so that no answer is taken that is too late to be used. The
// zero value is ready; it is safe for concurrent use.
type claims struct {
	mu sync.Mutex
	by map[string]*claim // by outerID
}

type claim struct {
	answer bool
	// late is called when the answer is not taken after all: the time is over.
	late func()
}

// answer claims a question for an answer; false: its time is over.
func (c *claims) answer(question string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if held := c.by[question]; held != nil {
		return held.answer
	}
	c.hold(question, &claim{answer: true})
	return true
}

// timeOver claims a question whose time is over and calls tell; where an answer has
// it, tell is called if that is not taken after all.
func (c *claims) timeOver(question string, tell func()) {
	c.mu.Lock()
	held := c.by[question]
	if held == nil {
		c.hold(question, &claim{})
	} else if held.answer {
		held.late = tell
	}
	c.mu.Unlock()
	if held == nil {
		tell()
	}
}

func (c *claims) hold(question string, by *claim) {
	if c.by == nil {
		c.by = map[string]*claim{}
	}
	c.by[question] = by
}

// giveBack gives back the claim of an answer that is not taken.
func (c *claims) giveBack(question string) {
	c.mu.Lock()
	held := c.by[question]
	if held == nil || !held.answer {
		c.mu.Unlock()
		return
	}
	delete(c.by, question)
	c.mu.Unlock()
	if held.late != nil {
		c.timeOver(question, held.late)
	}
}

// outerID tells a question of the run apart from all others of the outermost run.
func (d *driver) outerID(q *machine.Question) string {
	for n := d.nested; n != nil; n = n.parent.nested {
		q = &machine.Question{Task: n.task, Ask: machine.Ask{ID: n.askID(q)}}
	}
	return questionID(q)
}

// unused says that an answer was of no use: what asked for it had ended meanwhile.
func (d *driver) unused(task machine.TaskID, target, by string) {
	if by != "" {
		by = " of " + by
	}
	d.said(&message{task: task, said: &Said{
		Type: "warning", Message: "the answer" + by + " for " + strconv.Quote(target) + " was not used: what asked for it had ended",
	}})
}
