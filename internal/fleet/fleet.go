// Package fleet drives many runs in one process, and lets others look on while they
// happen. Whoever looks on costs a run nothing, however slow they are.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
)

// ErrClosing says that the fleet takes no new work: its process is about to end.
var ErrClosing = errors.New("the server is stopping and takes no new work")

// FullError says that as many runs are driven as may be.
type FullError struct{ Max int }

// Error names the limit.
func (e *FullError) Error() string {
	return fmt.Sprintf("%d runs are driven, which is the most (--max-runs); try again when one has ended", e.Max)
}

// Config configures a Fleet.
type Config struct {
	Runner *runner.Runner
	Store  store.Store
	// Max is the greatest number of runs that are driven at once; 0: 100.
	Max int
	// Marks is a folder in which the runs of this fleet are noted, so that the next
	// process takes them up; empty: they are forgotten.
	Marks string
	// Home tells fleets with the same marks apart: each takes up its own runs.
	Home string
	// Kill, when it is closed, ends the grace of programs that are being stopped.
	Kill chan struct{}
	// Log is told in a line what happens to runs; nil: nobody is.
	Log func(line string)
	// Now tells the time; nil: the machine's clock.
	Now func() time.Time
}

// Fleet drives runs. It is safe for concurrent use.
type Fleet struct {
	cfg     Config
	marks   marks
	watched atomic.Int64 // by so many watchers

	mu     sync.Mutex
	drives map[string]*Drive
	// admitted is closed when the next drive begins.
	admitted chan struct{}
	closing  bool
	// seen is when paused runs were last noted, by id: answers change it.
	seen map[string]time.Time

	started, finished int // since the process began
}

// New makes a fleet that drives nothing yet.
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
		cfg: cfg, marks: marks{dir: cfg.Marks, home: cfg.Home}, drives: map[string]*Drive{}, admitted: make(chan struct{}),
		seen: map[string]time.Time{},
	}
}

// Drive is a run that is driven here.
type Drive struct {
	ID string
	// Done is closed when the drive is over: Result then says what the run came to,
	// and Err why the tool could not work.
	Done   <-chan struct{}
	Result *runner.Result
	Err    error

	cancel context.CancelCauseFunc
	began  chan struct{}
	once   sync.Once
	before int64
	ring   ring
}

// Before is the number of the last event before the drive: what it tells comes after.
func (d *Drive) Before() int64 { return d.before }

// Start begins a new run of a flow. It returns when the run is kept, or with the
// reason why nothing was run, as Flow.Run gives it.
func (f *Fleet) Start(flow *runner.Flow, opts runner.Options) (*Drive, error) {
	if opts.RunID == "" {
		opts.RunID = store.NewRunID(f.cfg.Now())
	}
	return f.launch(opts.RunID, func(ctx context.Context, sink runner.Sink) (*runner.Result, error) {
		opts.Sink = sink
		return flow.Run(ctx, opts)
	})
}

// Resume goes on with a run; see Runner.Resume.
func (f *Fleet) Resume(id string, opts runner.Options) (*Drive, error) {
	return f.launch(id, func(ctx context.Context, sink runner.Sink) (*runner.Result, error) {
		opts.Sink = sink
		return f.cfg.Runner.Resume(ctx, id, opts)
	})
}

// Fork begins a new run from the past of another one; see Runner.Fork.
func (f *Fleet) Fork(from string, opts runner.ForkOptions) (*Drive, error) {
	if opts.RunID == "" {
		opts.RunID = store.NewRunID(f.cfg.Now())
	}
	return f.launch(opts.RunID, func(ctx context.Context, sink runner.Sink) (*runner.Result, error) {
		opts.Sink = sink
		return f.cfg.Runner.Fork(ctx, from, opts)
	})
}

// launch drives a run in a goroutine of its own, and waits until it has begun.
func (f *Fleet) launch(id string, do func(context.Context, runner.Sink) (*runner.Result, error)) (*Drive, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	done := make(chan struct{})
	d := &Drive{ID: id, Done: done, cancel: cancel, began: make(chan struct{})}
	known, err := f.admit(d)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	go func() {
		defer cancel(nil)
		d.Result, d.Err = do(ctx, sink(d.hear))
		f.dismiss(d, known)
		d.ring.end()
		close(done)
	}()
	select {
	case <-d.began:
	case <-done:
		select {
		case <-d.began:
		default:
			if d.Err != nil && d.Result == nil {
				return nil, d.Err
			}
		}
	}
	return d, nil
}

// admit makes room for a drive. known says that the run was this fleet's before.
func (f *Fleet) admit(d *Drive) (known bool, err error) {
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
	close(f.admitted)
	f.admitted = make(chan struct{})
	return known, nil
}

// nextDrive returns what is closed when the next drive begins.
func (f *Fleet) nextDrive() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.admitted
}

// dismiss lets go of a drive that is over. A run that may go on stays this fleet's.
func (f *Fleet) dismiss(d *Drive, known bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.drives, d.ID)
	delete(f.seen, d.ID)
	f.finished++
	began := false
	select {
	case <-d.began:
		began = true
	default:
	}
	switch {
	case d.Err != nil:
		if !began && !known {
			f.marks.remove(d.ID)
		}
		if began {
			f.cfg.Log(fmt.Sprintf("run %s: %v", d.ID, d.Err))
		}
	case f.closing: // the next process decides
	case d.Result.Status != pausedStatus:
		f.marks.remove(d.ID)
	}
}

// Driven is the drive of a run; nil: it is not driven here.
func (f *Fleet) Driven(id string) *Drive {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.drives[id]
}

// Counts are how many runs are driven, and have been since the process began.
func (f *Fleet) Counts() (driving, started, finished, watched int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.drives), f.started, f.finished, int(f.watched.Load())
}

// Closing reports whether no new work is taken.
func (f *Fleet) Closing() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closing
}

// Cancel ends a run that is driven here; false: it is not. cause says who wants it.
func (f *Fleet) Cancel(id string, cause error) bool {
	d := f.Driven(id)
	if d == nil {
		return false
	}
	d.cancel(cause)
	return true
}

// hear takes an event of the run, for those who look on.
func (d *Drive) hear(e *runner.Event) error {
	d.once.Do(func() {
		d.before = e.Seq - 1
		close(d.began)
	})
	d.ring.add(e)
	return nil
}
