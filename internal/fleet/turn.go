// Turns of those who look on: telling many of a run must not take the run's time.

package fleet

import (
	"context"
	"time"
)

// longestTurn is how long others wait for one who is told. Who takes longer is a slow
// reader, and no processor is busy with it.
const longestTurn = 2 * time.Millisecond

// shareOfRuns is how often the time of a turn passes before the next one while runs are
// driven: telling takes a fourth of one processor's time at most. Who has to wait is
// told more at once, which costs less. Pauses shorter than shortestRest are gathered.
const (
	shareOfRuns  = 3
	shortestRest = time.Millisecond
)

// turns lets those who look on be told one after the other, first come, first served.
type turns struct {
	one chan struct{}
	// busy reports whether runs are driven.
	busy func() bool
	owed time.Duration // of whose turn it is
}

func newTurns(busy func() bool) *turns {
	return &turns{one: make(chan struct{}, 1), busy: busy}
}

// take tells somebody when it is their turn. The error is that of tell, or of ctx.
func (t *turns) take(ctx context.Context, tell func() error) error {
	select {
	case t.one <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	began := time.Now()
	late := time.AfterFunc(longestTurn, func() { t.end(longestTurn) })
	err := tell()
	if late.Stop() {
		t.end(time.Since(began))
	}
	return err
}

// end lets the next one have a turn after one of some time.
func (t *turns) end(took time.Duration) {
	if t.busy() {
		if t.owed += shareOfRuns * min(took, longestTurn); t.owed >= shortestRest {
			time.Sleep(t.owed)
			t.owed = 0
		}
	}
	<-t.one
}
