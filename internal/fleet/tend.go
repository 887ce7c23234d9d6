// Resuming runs: those that an earlier process left, due ones, and answered ones.

package fleet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// tendEvery is the interval of checking runs that nobody drives.
const tendEvery = time.Second

// Tend resumes the runs that earlier processes of this home left, and then waiting runs when
// they are due or answered, until ctx ends.
func (f *Fleet) Tend(ctx context.Context) error {
	left, err := f.marks.all()
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(left)) {
		f.recover(id, left[id])
	}
	ticker := time.NewTicker(tendEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if err := f.tend(); err != nil {
				f.cfg.Log("checking waiting runs: " + err.Error())
			}
		}
	}
}

// recover resumes a run that an earlier process left, unless it only waits.
func (f *Fleet) recover(id, how string) {
	if f.Driven(id) != nil { // it has been started since
		return
	}
	lines, err := f.cfg.Store.List(store.RunFilter{ID: id})
	if err != nil {
		f.cfg.Log(fmt.Sprintf("run %s can't be read: %v", id, err))
		return
	}
	if len(lines) == 0 {
		f.marks.remove(id)
		return
	}
	switch stands := lines[0].StandsAs(); {
	case stands == store.Crashed, how == stopped && (stands == machine.Paused || stands == machine.Cancelled):
		f.resumeLeft(id)
	case stands != machine.Paused && stands != machine.Running:
		f.marks.remove(id)
	}
}

// resumeLeft resumes a run of this fleet that nobody drives.
func (f *Fleet) resumeLeft(id string) {
	_, err := f.Resume(id, runner.Options{})
	var driven *store.DrivenError
	var full *FullError
	switch {
	case err == nil:
		f.cfg.Log("run " + id + " resumes")
	case errors.As(err, &driven), errors.As(err, &full), errors.Is(err, ErrClosing): // another driver or a later look resumes it
	default:
		f.marks.remove(id)
		f.cfg.Log(fmt.Sprintf("run %s can't be resumed: %v", id, err))
	}
}

// tend checks all waiting runs once.
func (f *Fleet) tend() error {
	own, err := f.marks.all()
	if err != nil || len(own) == 0 {
		return err
	}
	lines, err := f.cfg.Store.List(store.RunFilter{Status: []machine.Status{machine.Paused, machine.Running}})
	if err != nil {
		return err
	}
	now := f.cfg.Now()
	for i := range lines {
		line := &lines[i]
		how, ours := own[line.ID]
		if !ours || line.Owner != "" || f.Driven(line.ID) != nil {
			continue
		}
		due := !line.Due.IsZero() && !line.Due.After(now)
		if line.StandsAs() == store.Crashed || due || how == stopped || f.answered(line) {
			f.resumeLeft(line.ID)
		}
	}
	return nil
}

// answered reports whether all questions of a paused run have answers.
func (f *Fleet) answered(line *store.RunSummary) bool {
	f.mu.Lock()
	before, known := f.seen[line.ID]
	f.seen[line.ID] = line.Updated
	f.mu.Unlock()
	if known && before.Equal(line.Updated) || line.Reason != "human" {
		return false
	}
	result, err := f.cfg.Runner.Show(line.ID, runner.Options{})
	return err == nil && result.Status == machine.Paused && len(result.Pending) == 0
}

// errStopping cancels runs whose nodes do not end in time.
var errStopping = errors.New("the server is stopping")

// Stop accepts no new runs and ends the drives. A run pauses when its running nodes have ended.
// Nodes that do not end within grace are cancelled as by Ctrl-C. The next process of this home
// continues the runs.
func (f *Fleet) Stop(grace time.Duration) {
	f.mu.Lock()
	f.closing = true
	left := slices.Collect(maps.Values(f.drives))
	f.mu.Unlock()
	for _, d := range left {
		if _, err := f.marks.set(d.ID, stopped); err != nil {
			f.cfg.Log(fmt.Sprintf("run %s will not be resumed: %v", d.ID, err))
		}
		_ = f.cfg.Store.Ask(d.ID, store.RequestPause) // else it is cancelled
	}
	over := time.After(grace)
	for _, d := range left {
		select {
		case <-d.Done:
		case <-over:
			for _, d := range left {
				d.cancel(errStopping)
			}
			<-d.Done
		}
	}
	for _, d := range left {
		if d.Err == nil && d.Result.Status != machine.Paused && d.Result.Status != machine.Cancelled {
			f.marks.remove(d.ID)
		}
	}
}

// The states of a mark: the run is driven or may continue, or it was stopped with the process.
const (
	driving = "driving"
	stopped = "stopped"
)

// marks is a folder with a file for each run of a fleet.
type marks struct{ dir, home string }

// set writes the mark of a run. known says that it exists.
func (m *marks) set(id, how string) (known bool, err error) {
	if m.dir == "" {
		return false, nil
	}
	if err := os.MkdirAll(m.dir, 0o700); err != nil {
		return false, err
	}
	path := filepath.Join(m.dir, id)
	_, err = os.Stat(path)
	known = err == nil
	return known, os.WriteFile(path, []byte(how+"\n"+m.home+"\n"), 0o600)
}

// remove deletes the mark of a run.
func (m *marks) remove(id string) {
	if m.dir != "" {
		_ = os.Remove(filepath.Join(m.dir, id)) // a superfluous mark does no harm: the run has ended
	}
}

// all returns the runs of this home with their states.
func (m *marks) all() (map[string]string, error) {
	out := map[string]string{}
	if m.dir == "" {
		return out, nil
	}
	entries, err := os.ReadDir(m.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	for _, entry := range entries {
		text, readErr := os.ReadFile(filepath.Join(m.dir, entry.Name()))
		how, home, ok := strings.Cut(strings.TrimSuffix(string(text), "\n"), "\n")
		if readErr == nil && ok && home == m.home {
			out[entry.Name()] = how
		}
	}
	return out, err
}
