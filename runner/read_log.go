// Reading the log of a run, also while another process writes it.

package runner

import (
	"context"
	"time"

	"github.com/graphrun/graphrun/runner/internal/mask"
	"github.com/graphrun/graphrun/runner/internal/runlog"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

const (
	// logBatch is how many chunks are read at once, a few megabytes at most.
	logBatch = 256
	// logPoll is the interval at which a followed log is read.
	logPoll = 200 * time.Millisecond
)

// Logs passes the log of a run to each, in order, and masks values that became secret later. With
// follow it continues until the run or ctx ends. Output of a node that writes a secret key is passed on
// when the node has ended.
func (r *Runner) Logs(ctx context.Context, runID string, follow bool, each func(*store.LogChunk) error) error {
	rec, err := r.loadRecord(runID)
	if err != nil {
		return err
	}
	reader := &logReader{runner: r, rec: rec, reader: runlog.NewReader(each)}
	for {
		lines, err := r.cfg.Store.List(store.RunFilter{ID: runID})
		if err != nil {
			return err
		}
		over := len(lines) == 0 || lines[0].Status != machine.Running && lines[0].Status != machine.Paused
		if err := reader.readNew(follow && !over); err != nil {
			return err
		}
		if over || !follow {
			return reader.reader.Flush()
		}
		if err := sleep(ctx, r.cfg.Clock, logPoll); err != nil {
			return err
		}
	}
}

// logReader reads a log.
type logReader struct {
	runner *Runner
	rec    *record
	reader *runlog.Reader
	after  int64
	// mask masks the secrets known by now. busy are the paths of nodes that may write more secrets.
	mask *mask.Masker
	busy map[string]bool
}

// readNew reads new chunks. If wait is set, it stops before chunks of busy nodes, else it skips them.
func (l *logReader) readNew(wait bool) error {
	for looked := false; ; {
		chunks, err := l.runner.cfg.Store.Log(l.rec.run.ID, l.after, logBatch)
		if err != nil || len(chunks) == 0 {
			return err
		}
		if !looked {
			if err := l.learnSecrets(); err != nil {
				return err
			}
			looked = true
		}
		for i := range chunks {
			c := &chunks[i]
			if l.busy[c.Node] {
				if wait {
					return nil
				}
				continue
			}
			if err := l.reader.PassChunk(l.mask, c); err != nil {
				return err
			}
			l.after = c.Seq
		}
		if last := chunks[len(chunks)-1].Seq; !wait {
			l.after = last
		}
	}
}

// learnSecrets reads the secrets of the run so far.
func (l *logReader) learnSecrets() error {
	l.mask, l.busy = &mask.Masker{}, nil
	if !l.rec.flow.tree.HasSecrets() {
		return nil
	}
	d, err := l.runner.loadDriver(l.rec.run.ID, Options{readsOnly: true})
	if err != nil {
		return err
	}
	d.learnStateSecrets()
	l.mask, l.busy = d.mask, map[string]bool{}
	for _, t := range d.state.Current() {
		if d.flow.tree.WritesSecret(d.findGraph(t.Scope), t.Node) {
			l.busy[nodePath(&t.Place)] = true
		}
	}
	return nil
}
