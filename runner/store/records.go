// What every store keeps the same way, above its key-value part.

package store

import (
	"math"
	"sync/atomic"

	"github.com/graphrun/graphrun/runner/machine"
)

// Records implements the part of Store that is the same in all stores: sessions, cached
// results, requests, offers and logs. It is safe for concurrent use.
type Records struct {
	// Base is the store below. If it is nil, Records keeps everything in memory.
	Base   Base
	memory memory
	purged atomic.Bool // expired cache entries were deleted
}

func (r *Records) base() Base {
	if r.Base == nil {
		return &r.memory
	}
	return r.Base
}

// Events returns a run's events.
func (r *Records) Events(runID string) ([]machine.Event, error) { return r.EventsAfter(runID, 0) }

// EventsAfter returns a run's events without the first n.
func (r *Records) EventsAfter(runID string, n int) ([]machine.Event, error) {
	return r.base().Stretch(runID, n, math.MaxInt)
}
