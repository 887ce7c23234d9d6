package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// busy is a cluster that replies to the first heartbeats after their deadline, and to later ones
// with an error.
type busy struct {
	client.Client
	late chan struct{} // holds an item for each late reply
	then error
}

func (b *busy) RecordActivityHeartbeat(ctx context.Context, _ []byte, _ ...any) error {
	select {
	case b.late <- struct{}{}:
		<-ctx.Done()
		return serviceerror.NewDeadlineExceeded("late")
	default:
		return b.then
	}
}

// TestBeat: late replies of the cluster do not end a task, but an error that cancels it does.
func TestBeat(t *testing.T) {
	for name, then := range map[string]error{"cancelled": temporal.NewCanceledError(), "gone": serviceerror.NewNotFound("gone")} {
		t.Run(name, func(t *testing.T) {
			b := &busy{late: make(chan struct{}, 3), then: then}
			w := &Worker{Cluster: &Cluster{client: b}, heartbeat: 50 * time.Millisecond}
			alive, stop := w.sendHeartbeats(t.Context(), nil)
			defer stop()
			<-alive.Done()
			if got := context.Cause(alive); len(b.late) != 3 || !errors.Is(got, then) {
				t.Errorf("ended after %d late replies by %v, want %v", len(b.late), got, then)
			}
		})
	}
	b := &busy{late: make(chan struct{})}
	w := &Worker{Cluster: &Cluster{client: b}, heartbeat: 50 * time.Millisecond}
	alive, stop := w.sendHeartbeats(t.Context(), nil)
	stop()
	if alive.Err() == nil || w.running.Load() != 0 {
		t.Error("it beats on")
	}
}
