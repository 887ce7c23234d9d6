// Package fleet drives many runs in one process and lets watchers follow them. Slow watchers do
// not slow runs.
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
	"sync"
	"sync/atomic"
	"time"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// ErrClosing says that the fleet is stopping and accepts no runs.
var ErrClosing = errors.New("the server is stopping and takes no new work")

// FullError says that the fleet drives the maximum number of runs.
type FullError struct{ Max int }

// Error returns a message with the limit.
func (e *FullError) Error() string {
	return fmt.Sprintf("%d runs are driven, which is the most (--max-runs); try again when one has ended", e.Max)
}

// Config configures a Fleet.
type Config struct {
	Runner *runner.Runner
	Store  store.Store
	// Max is the maximum number of runs at once, by default 100.
	Max int
	// Marks is a folder with a file for each run that the next process must resume. If it is "",
	// the next process resumes nothing.
	Marks string
	// Home separates fleets with the same folder of marks.
	Home string
	// Log receives a line about each change of a run. It may be nil.
	Log func(line string)
	// Now returns the time. If it is nil, the system clock is used.
	Now func() time.Time
}

// Fleet drives runs. It is safe for concurrent use.
type Fleet struct {
	cfg     Config
	marks   marks
	watched atomic.Int64 // number of watchers

	mu      sync.Mutex
	drives  map[string]*Drive
	closing bool
	// seen holds the update times of paused runs by id. Answers change them.
	seen map[string]time.Time

	started, finished int // since the process started
}

// New returns a fleet without runs.
func New(cfg Config) *Fleet {
	if cfg.Max == 0 {
		cfg.Max = 100
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = func(string) {}
	}
	return &Fleet{
		cfg: cfg, marks: marks{dir: cfg.Marks, home: cfg.Home}, drives: map[string]*Drive{}, seen: map[string]time.Time{},
	}
}

// Drive is a run while this fleet drives it.
type Drive struct {
	ID string
	// Done is closed at the end of the drive, when Result and Err are set.
	Done   <-chan struct{}
	Result *runner.Result
	Err    error

	// Before is the number of the last event before the drive.
	Before int64

	cancel context.CancelCauseFunc
	began  chan struct{}
	ring   ring
}

// Start starts a run of a flow. It returns when the run is stored, or with an error of Flow.Run
// if nothing runs.
func (f *Fleet) Start(flow *runner.Flow, opts runner.Options) (*Drive, error) {
	return f.launchRun(&opts, func(ctx context.Context) (*runner.Result, error) { return flow.Run(ctx, opts) })
}

// Resume continues a run; see Runner.Resume.
func (f *Fleet) Resume(id string, opts runner.Options) (*Drive, error) {
	opts.RunID = id
	return f.launchRun(&opts, func(ctx context.Context) (*runner.Result, error) { return f.cfg.Runner.Resume(ctx, id, opts) })
}

// Answer answers questions of a run, and resumes it if it has no driver. It returns nil if
// the driver is in another process.
func (f *Fleet) Answer(ctx context.Context, id string, answers []store.GivenAnswer, by string) (*Drive, error) {
	isDriven, err := f.cfg.Runner.Answer(ctx, id, answers, by)
	if d := f.FindDrive(id); err != nil || d != nil || isDriven {
		return d, err
	}
	d, err := f.Resume(id, runner.Options{By: by})
	if _, ok := errors.AsType[*store.DrivenError](err); ok { // another process resumed it meanwhile
		return nil, nil
	}
	return d, err
}

// Fork starts a run from a step of another; see Runner.Fork.
func (f *Fleet) Fork(from string, opts runner.ForkOptions) (*Drive, error) {
	return f.launchRun(&opts.Options, func(ctx context.Context) (*runner.Result, error) { return f.cfg.Runner.Fork(ctx, from, opts) })
}

// launchRun drives a run in a new goroutine and waits until it has started.
func (f *Fleet) launchRun(opts *runner.Options, do func(context.Context) (*runner.Result, error)) (*Drive, error) {
	if opts.RunID == "" {
		opts.RunID = store.NewRunID(f.cfg.Now())
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	done := make(chan struct{})
	d := &Drive{ID: opts.RunID, Done: done, cancel: cancel, began: make(chan struct{})}
	opts.Sink = runner.SinkFunc(d.addEvent)
	known, err := f.admitDrive(d)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	go func() {
		defer cancel(nil)
		d.Result, d.Err = do(ctx)
		f.removeDrive(d, known)
		d.ring.end()
		close(done)
	}()
	select {
	case <-d.began:
	case <-done:
		if d.Err != nil && d.Result == nil && !d.hasEvents() {
			return nil, d.Err
		}
	}
	return d, nil
}

func (d *Drive) hasEvents() bool {
	select {
	case <-d.began:
		return true
	default:
		return false
	}
}

// admitDrive adds a drive unless the fleet is full or stopping. known means that the run has a mark.
func (f *Fleet) admitDrive(d *Drive) (known bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.closing:
		return false, ErrClosing
	case f.drives[d.ID] != nil:
		return false, &store.DrivenError{RunID: d.ID, Owner: "this server"}
	case len(f.drives) >= f.cfg.Max:
		return false, &FullError{f.cfg.Max}
	}
	if known, err = f.marks.set(d.ID, driving); err != nil {
		return false, err
	}
	f.drives[d.ID] = d
	f.started++
	return known, nil
}

// removeDrive removes a finished drive. A run that may continue keeps its mark.
func (f *Fleet) removeDrive(d *Drive, known bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.drives, d.ID)
	delete(f.seen, d.ID)
	f.finished++
	switch {
	case d.Err != nil && d.hasEvents():
		f.cfg.Log(fmt.Sprintf("run %s: %v", d.ID, d.Err))
	case d.Err != nil:
		if !known {
			f.marks.remove(d.ID)
		}
	case f.closing: // the next process decides whether to resume it
	case d.Result.Status != machine.Paused:
		f.marks.remove(d.ID)
	}
}

// FindDrive returns the drive of a run, or nil.
func (f *Fleet) FindDrive(id string) *Drive {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.drives[id]
}

// Counts returns the numbers of runs driven now, of drives started and finished since the process
// started, and of watchers.
func (f *Fleet) Counts() (driving, started, finished, watched int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.drives), f.started, f.finished, int(f.watched.Load())
}

// IsClosing reports whether the fleet is stopping.
func (f *Fleet) IsClosing() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closing
}

// Cancel cancels a run with a cause. It returns false if the fleet does not drive the run.
func (f *Fleet) Cancel(id string, cause error) bool {
	d := f.FindDrive(id)
	if d == nil {
		return false
	}
	d.cancel(cause)
	return true
}

func (d *Drive) addEvent(e *runner.Event) error {
	if !d.hasEvents() { // a run emits one event at a time
		d.Before = e.Seq - 1
		close(d.began)
	}
	d.ring.add(e)
	return nil
}

// checkInterval is the interval at which runs without a driver are checked.
const checkInterval = time.Second

// ResumeRuns resumes the runs that earlier processes of this home left, and then waiting runs when
// they are due or answered, until ctx ends.
func (f *Fleet) ResumeRuns(ctx context.Context) error {
	left, err := f.marks.list()
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(left)) {
		f.resumeMarked(id, left[id])
	}
	ticker := time.NewTicker(checkInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if err := f.resumeWaiting(); err != nil {
				f.cfg.Log("checking waiting runs: " + err.Error())
			}
		}
	}
}

// resumeMarked resumes a run that an earlier process left, unless the run only waits.
func (f *Fleet) resumeMarked(id, how string) {
	if f.FindDrive(id) != nil { // a request has resumed it
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
	switch status := lines[0].EffectiveStatus(); {
	case status == store.Crashed, how == stopped && (status == machine.Paused || status == machine.Cancelled):
		f.resumeUndriven(id)
	case status != machine.Paused && status != machine.Running:
		f.marks.remove(id)
	}
}

// resumeUndriven resumes a run of this fleet that nobody drives.
func (f *Fleet) resumeUndriven(id string) {
	_, err := f.Resume(id, runner.Options{})
	_, isDriven := errors.AsType[*store.DrivenError](err)
	_, isFull := errors.AsType[*FullError](err)
	switch {
	case err == nil:
		f.cfg.Log("run " + id + " resumes")
	case isDriven, isFull, errors.Is(err, ErrClosing): // another driver or a later check resumes it
	default:
		f.marks.remove(id)
		f.cfg.Log(fmt.Sprintf("run %s can't be resumed: %v", id, err))
	}
}

// resumeWaiting resumes the runs that are due or answered.
func (f *Fleet) resumeWaiting() error {
	own, err := f.marks.list()
	if err != nil || len(own) == 0 {
		return err
	}
	lines, err := f.cfg.Store.List(store.RunFilter{Status: []machine.Status{machine.Paused, machine.Running}})
	if err != nil {
		return err
	}
	now := f.cfg.Now()
	for _, line := range lines {
		how, ours := own[line.ID]
		if !ours || line.Owner != "" || f.FindDrive(line.ID) != nil {
			continue
		}
		due := !line.Due.IsZero() && !line.Due.After(now)
		if line.EffectiveStatus() == store.Crashed || due || how == stopped || f.isAnswered(&line) {
			f.resumeUndriven(line.ID)
		}
	}
	return nil
}

// isAnswered reports whether all questions of a paused run have answers.
func (f *Fleet) isAnswered(line *store.RunSummary) bool {
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
		_ = f.cfg.Store.SendRequest(d.ID, store.RequestPause) // on an error, the run is cancelled below
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

// set writes the mark of a run. known means that the run had a mark.
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

func (m *marks) remove(id string) {
	if m.dir != "" {
		_ = os.Remove(filepath.Join(m.dir, id)) // a superfluous mark does no harm: the run has ended
	}
}

// list returns the runs of this home with their states.
func (m *marks) list() (map[string]string, error) {
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
