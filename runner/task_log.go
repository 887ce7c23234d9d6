// How tasks come to the log of their run.

package runner

import (
	"io"
	"sync"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// listen gives a task what it says things with. The function ends what it began.
func (d *driver) listen(task *Task, id machine.TaskID) (end func()) {
	about := store.LogChunk{Node: task.Node, Place: task.Place, Visit: task.Visit, Attempt: task.Attempt}
	quiet := d.flow.tree.Confides(id.Node)
	task.OpenLog = func(source, stream string) io.WriteCloser {
		own := about
		own.Source, own.Stream = source, stream
		return d.log.Open(own, quiet)
	}
	text := &saidText{open: func() io.WriteCloser { return task.OpenLog("", "text") }}
	task.Emit = func(said Said) {
		if said.Type == "text" {
			text.add(&said)
		}
		d.send(message{task: id, said: &said})
	}
	return text.end
}

// saidText is the text that a task says, a stream for each that it ends.
type saidText struct {
	open func() io.WriteCloser

	mu     sync.Mutex
	stream io.WriteCloser // nil: none is open
}

func (t *saidText) add(said *Said) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stream == nil && said.Text != "" {
		t.stream = t.open()
	}
	if t.stream != nil {
		_, _ = io.WriteString(t.stream, said.Text)
	}
	if said.Broken && t.stream != nil {
		_, _ = io.WriteString(t.stream, "\n[broken off]")
	}
	if said.Final || said.Broken {
		t.close()
	}
}

func (t *saidText) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.close()
}

func (t *saidText) close() {
	if t.stream != nil {
		_ = t.stream.Close()
	}
	t.stream = nil
}
