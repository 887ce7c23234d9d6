// Questions of subgraphs are answered, or their time is over, never both.

package answers

import "sync"

// Claims say what settles a question of a subgraph: an answer that the outermost run
// takes, or the end of its time, which the subgraph's own driver sees. Whichever claims
// a question first has it, so that no answer is taken that is too late to be used. The
// zero value is ready; it is safe for concurrent use.
type Claims struct {
	mu sync.Mutex
	by map[string]*claim // by question, as the outermost run tells it apart
}

type claim struct {
	answer bool
	// late is called when the answer is not taken after all: the time is over.
	late func()
}

// Answer claims a question for an answer; false: its time is over.
func (c *Claims) Answer(question string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if held := c.by[question]; held != nil {
		return held.answer
	}
	c.hold(question, &claim{answer: true})
	return true
}

// TimeOver claims a question that timed out and calls tell, each time. If an answer holds
// the claim, tell is called once that answer is refused.
func (c *Claims) TimeOver(question string, tell func()) {
	c.mu.Lock()
	held := c.by[question]
	if held == nil {
		c.hold(question, &claim{})
	} else if held.answer {
		held.late = tell
	}
	c.mu.Unlock()
	if held == nil || !held.answer { // a subgraph with several waits wakes more than once
		tell()
	}
}

func (c *Claims) hold(question string, by *claim) {
	if c.by == nil {
		c.by = map[string]*claim{}
	}
	c.by[question] = by
}

// GiveBack gives back the claim of an answer that is not taken.
func (c *Claims) GiveBack(question string) {
	c.mu.Lock()
	held := c.by[question]
	if held == nil || !held.answer {
		c.mu.Unlock()
		return
	}
	delete(c.by, question)
	c.mu.Unlock()
	if held.late != nil {
		c.TimeOver(question, held.late)
	}
}
