// How tasks come to the log of their run.

package runner

import (
	"io"
	"slices"
	"sync"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

// listen gives a task what it says things with. The function ends what it began.
func (d *driver) listen(task *Task, id machine.TaskID) (end func()) {
	about := store.LogChunk{Node: task.Node, Place: task.Place, Visit: task.Visit, Attempt: task.Attempt}
	quiet := d.flow.confides(id.Node)
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

// confides reports whether a node writes a secret key: what it says may be what it
// writes, which nobody knows to be secret before the node has ended.
func (f *Flow) confides(node string) bool {
	n := f.graph.Node(node)
	return n != nil && slices.ContainsFunc(f.graph.State, func(key *spec.StateKey) bool {
		return key.Secret && writes(n, key.Name.Value)
	})
}

func writes(n *spec.Node, key string) bool {
	return slices.ContainsFunc(n.Writes.Keys, func(t spec.Text) bool { return t.Value == key }) ||
		slices.ContainsFunc(n.Writes.Exprs, func(e spec.NamedExpr) bool { return e.Name.Value == key })
}
