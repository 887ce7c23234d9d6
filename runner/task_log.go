// Text and logs of tasks.

package runner

import (
	"io"
	"strings"

	"github.com/graphrun/graphrun/runner/internal/runlog"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// listen sets Emit and OpenLog of a task. end closes what they opened.
func (d *driver) listen(task *Task, id machine.TaskID) (end func()) {
	about := store.LogChunk{Node: task.Node, Place: task.Place, Visit: task.Visit, Attempt: task.Attempt}
	quiet := d.flow.tree.Confides(task.Graph, lastNode(task.Node))
	task.OpenLog = func(source, stream string) io.WriteCloser {
		own := about
		own.Source, own.Stream = source, stream
		return d.log.Open(own, quiet)
	}
	text := runlog.NewText(func() io.WriteCloser { return task.OpenLog("", "text") })
	task.Emit = func(said Said) {
		if said.Type == "text" {
			text.Add(said.Text, said.Final, said.Broken)
		}
		d.sendSaid(id, said)
	}
	return text.End
}

// lastNode returns the node's own id in its path.
func lastNode(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
