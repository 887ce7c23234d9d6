// Logs of tasks.

package runner

import (
	"io"
	"time"

	"github.com/graphrun/graphrun/runner/internal/mask"
	"github.com/graphrun/graphrun/runner/internal/runlog"
	"github.com/graphrun/graphrun/runner/store"
)

// attachLog makes a task write its streams and the texts that it emits to a log.
func attachLog(log *runlog.Log, task *Task, quiet bool) (end func()) {
	about := store.LogChunk{Node: task.Node, Place: task.Place, Visit: task.Visit, Attempt: task.Attempt}
	task.OpenLog = func(source, stream string) io.WriteCloser {
		own := about
		own.Source, own.Stream = source, stream
		return log.OpenStream(own, quiet)
	}
	text := runlog.NewText(func() io.WriteCloser { return task.OpenLog("", "text") })
	emit := task.Emit
	task.Emit = func(said Said) {
		if said.Type == "text" {
			text.Add(said.Text, said.Final, said.Broken)
		}
		emit(said)
	}
	return text.End
}

// LogTask stores the log of a hosted task in a keeper at intervals, with secrets masked. close stores
// the rest.
func LogTask(task *Task, keeper runlog.Keeper, every time.Duration, secrets []string) (close func()) {
	hidden := &mask.Masker{}
	for _, text := range secrets {
		hidden.HideText(text)
	}
	log := runlog.New(runlog.Config{Store: keeper, RunID: task.RunID, Now: time.Now, Mask: hidden, Every: every})
	end := attachLog(log, task, false)
	return func() {
		end()
		log.Close()
	}
}
