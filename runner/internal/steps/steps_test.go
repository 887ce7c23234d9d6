package steps

import (
	"slices"
	"testing"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/virtual"
)

// On a virtual clock those who wait for the steps of others to be known go on as they
// began, one at a time: an engine that replays would else get other tasks, and might
// think the run quiet before they have begun.
func TestWhoWaitsForStepsGoesOnInOrder(t *testing.T) {
	clock := virtual.NewClock(time.Unix(0, 0))
	pool := New(clock)
	pool.free = 10
	known := machine.TaskID{Node: "known"}
	pool.unread[known] = true
	const takers = 20
	clock.Hold() // this test works, too
	went := make(chan int, takers)
	for i := range takers {
		turn := clock.Turn()
		go func() {
			turn()
			pool.Take(machine.TaskID{Node: "waits", Visit: i}, 1)
			went <- i
			clock.Release()
		}()
	}
	clock.Release() // they begin, and wait
	for waiting := 0; waiting < takers; {
		pool.mu.Lock()
		waiting = len(*pool.waiting)
		pool.mu.Unlock()
	}
	clock.Hold()
	pool.Took(known, 0)
	select {
	case i := <-went:
		t.Errorf("%d goes on while another is at work", i)
	default:
	}
	clock.Release()
	var order, want []int
	for i := range takers {
		order, want = append(order, <-went), append(want, i)
	}
	if !slices.Equal(order, want) {
		t.Errorf("they go on as %v", order)
	}
}
