// Tasks tell the cluster that they live.

package engine

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"
)

// beat says that a task is alive, until stop. That is also how it learns that it is
// cancelled, so it is said every second; by many tasks less often, or nothing else would
// get through. The SDK would end a task whose cluster takes longer than that to reply,
// which a busy one does: here a task lives until the cluster says that it does not. The
// cause of alive is a *temporal.CanceledError when the run does not want the task any more.
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

// endsTask reports whether the cluster says that a task is to end, or is over for it.
func endsTask(err error) bool {
	var asked *temporal.CanceledError
	var gone *serviceerror.NotFound
	var forgotten *serviceerror.NamespaceNotFound
	return errors.As(err, &asked) || errors.As(err, &gone) || errors.As(err, &forgotten)
}
