// Starting programs so that none outlives the driver that started it.

package process

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// markVariable names the folder of a running program. Everything that it starts
// inherits it, also what leaves the group.
const markVariable = taskPrefix + "MARK"

// Keeper starts the programs of a run. When its process dies, by whatever signal, a
// watchdog ends the groups of those that still run. What is left EndLeft finds by its marks
// and ends before the run is resumed. It is safe for concurrent use.
type Keeper struct {
	place string

	mu       sync.Mutex
	dir      string
	err      error // the folder can't be made
	watchdog *watchdog
}

// NewKeeper makes a keeper whose marks are folders in the folder place; empty: in
// one of the system's for what is temporary. It is made with the first mark.
func NewKeeper(place string) *Keeper { return &Keeper{place: place} }

// Close ends the watchdog. No program may run any more: what does is ended.
func (k *Keeper) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.watchdog.close()
	k.watchdog = nil
	if k.dir != "" {
		_ = os.Remove(k.dir) // fails where another driver has marks there
	}
	return nil
}

// Mark is a program that is going to run, or runs. Its methods are called by one
// goroutine, but for Kill.
type Mark struct {
	keeper *Keeper
	dir    string
	leader int // its number; 0: it was not started
	group  group
}

// Mark makes the folder of a program. The mark can be used, too, when there is an
// error, which says why it has no folder.
func (k *Keeper) Mark() (*Mark, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.dir == "" && k.err == nil {
		if k.place == "" {
			k.dir, k.err = TempDir()
		} else if k.err = os.MkdirAll(k.place, 0o700); k.err == nil {
			k.dir, k.err = filepath.Abs(k.place)
		}
	}
	if k.watchdog == nil { // before the program, which may not wait for it
		k.watchdog = newWatchdog()
	}
	m := &Mark{keeper: k}
	if k.err != nil {
		return m, k.err
	}
	dir, err := os.MkdirTemp(k.dir, "task-")
	m.dir = dir
	return m, err
}

// Dir is the program's folder, gone with it; "": it has none.
func (m *Mark) Dir() string { return m.dir }

// Start starts the program in a group of its own.
func (m *Mark) Start(cmd *exec.Cmd) error {
	OwnGroup(cmd)
	if m.dir != "" {
		cmd.Env = append(slices.Clip(cmd.Env), markVariable+"="+m.dir)
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	m.leader = cmd.Process.Pid
	m.keeper.tell("+", m.leader) // at once: this process may be killed now
	m.group.adopt(cmd)
	return nil
}

// Ask asks the program and its group to end.
func (m *Mark) Ask(cmd *exec.Cmd) { m.group.ask(cmd) }

// Await returns when the group is empty, patience is over or kill is closed. Nothing
// reports the end of processes that are not our children, so it looks.
func (m *Mark) Await(cmd *exec.Cmd, patience <-chan time.Time, kill <-chan struct{}) {
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for m.group.alive(cmd) {
		select {
		case <-look.C:
		case <-patience:
			return
		case <-kill:
			return
		}
	}
}

// Kill ends the program, its group and all that bears its mark.
func (m *Mark) Kill(cmd *exec.Cmd) {
	m.group.kill(cmd)
	if m.dir != "" {
		killMarked(m.dir)
	}
}

// Close forgets the program, which has ended. What it left running goes on.
func (m *Mark) Close() {
	m.group.forget()
	if m.leader != 0 {
		m.keeper.tell("-", m.leader)
	}
	if m.dir != "" {
		_ = os.RemoveAll(m.dir)
	}
}

// tell tells the watchdog that a group begins ("+") or has ended ("-").
func (k *Keeper) tell(op string, group int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.watchdog.tell(op, group)
}

// watchdog is a small process that ends groups when its stdin ends: when this
// process is gone.
type watchdog struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
}
