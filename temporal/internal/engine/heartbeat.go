// Heartbeats of tasks.

package engine

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"
)

// beat sends heartbeats of a task until stop: every second, since the reply says whether the
// task is cancelled, or less often for many tasks. The SDK would end a task whose cluster
// takes longer to reply, as a busy one does; here only the cluster ends it. The cause of
// alive is a *temporal.CanceledError if the run has cancelled the task.
func (w *Worker) beat(ctx context.Context, token []byte) (alive context.Context, stop func()) {
	w.atWork.Add(1)
	alive, cancel := context.WithCancelCause(ctx)
	go func() {
		for {
			every := min(max(time.Second, time.Duration(w.atWork.Load())*10*time.Millisecond), w.heartbeat*2/5)
			if pause(alive, every) != nil {
				return
			}
			call, over := context.WithTimeout(alive, w.heartbeat*4/5)
			err := w.client.RecordActivityHeartbeat(call, token)
			over()
			if endsTask(err) {
				cancel(err)
				return
			}
		}
	}()
	return alive, func() {
		cancel(nil)
		w.atWork.Add(-1)
	}
}

// endsTask reports whether the cluster has ended or cancelled a task.
func endsTask(err error) bool {
	var asked *temporal.CanceledError
	var gone *serviceerror.NotFound
	var forgotten *serviceerror.NamespaceNotFound
	return errors.As(err, &asked) || errors.As(err, &gone) || errors.As(err, &forgotten)
}
