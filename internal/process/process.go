// Package process runs programs in process groups that end together, and finds programs in PATH.
package process

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// Find looks up a program without a slash in the PATH that it will get, as a shell does.
func Find(name, dir string, env []string) (string, error) {
	if filepath.Base(name) != name {
		return name, nil
	}
	path := ""
	for _, entry := range env {
		if key, value, _ := strings.Cut(entry, "="); key == "PATH" || runtime.GOOS == "windows" && strings.EqualFold(key, "PATH") {
			path = value
		}
	}
	for _, folder := range filepath.SplitList(path) {
		if folder == "" {
			continue // some shells use the current directory here: a trap
		}
		if found, err := exec.LookPath(filepath.Join(JoinPath(dir, folder), name)); err == nil {
			return found, nil
		}
	}
	return "", exec.ErrNotFound
}

// JoinPath returns a path relative to a folder, or the path itself if it is absolute.
func JoinPath(dir, path string) string {
	if path = filepath.FromSlash(path); filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// Tail keeps the last Keep bytes that are written to it. It is safe for concurrent use.
type Tail struct {
	Keep int

	mu  sync.Mutex
	buf []byte
}

// Write never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p[max(0, len(p)-t.Keep):]...)
	// Moving down only when twice full keeps the cost per byte constant.
	if len(t.buf) > 2*t.Keep {
		t.buf = t.buf[:copy(t.buf, t.buf[len(t.buf)-t.Keep:])]
	}
	return len(p), nil
}

// Bytes returns a copy of the kept bytes.
func (t *Tail) Bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Clone(t.buf[max(0, len(t.buf)-t.Keep):])
}

// RunDirVariable names the folder of the run.
const RunDirVariable = "GRAPHRUN_RUN_DIR"

// taskPrefix is the prefix of variables about the task. A program must not see those of an
// enclosing task.
const taskPrefix = "GRAPHRUN_TASK_"

// isPassedByDefault reports whether every program gets a variable: paths, locale and terminal, but no keys.
func isPassedByDefault(name string) bool {
	switch strings.ToUpper(name) {
	case "PATH", "HOME", "USER", "LOGNAME", "SHELL", "HOSTNAME", "TMPDIR", "TMP", "TEMP", "TZ", "TZDIR",
		"LANG", "LANGUAGE", "TERM", "TERMINFO", "COLORTERM", "NO_COLOR", "LD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR",
		"NIX_SSL_CERT_FILE", "LOCALE_ARCHIVE",
		// Windows can't start programs without these.
		"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA",
		"PROGRAMFILES", "USERNAME", "HOMEDRIVE", "HOMEPATH", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE", "OS":
		return true
	}
	return strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "XDG_")
}

// Environ returns the variables of a program in a folder: the usual ones of this process, and
// those of pass, the value of env_pass: "all", or a list of names. Only pass includes withheld
// names, such as those of secrets. runDir returns the folder of the run; nil means there is none.
func Environ(dir string, pass any, withheld []string, runDir func() (string, error)) ([]string, error) {
	more, _ := pass.([]any)
	out := slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		switch {
		case strings.HasPrefix(name, taskPrefix), name == RunDirVariable:
			return true
		case pass == "all", slices.Contains(more, any(name)):
			return false
		}
		return !isPassedByDefault(name) || slices.Contains(withheld, name)
	})
	out = append(out, "PWD="+dir)
	if runDir == nil {
		return out, nil
	}
	folder, err := runDir()
	return append(out, RunDirVariable+"="+folder), err
}

// markVariable names the folder of a running program. All its children inherit it, even those
// that leave the group.
const markVariable = taskPrefix + "MARK"

// Keeper starts the programs of a run. If this process dies, a watchdog ends their groups.
// Before a resume, KillLeftovers finds remaining processes by their marks and ends them. It is safe
// for concurrent use.
type Keeper struct {
	mu       sync.Mutex
	dir      string
	watchdog *watchdog
}

// NewKeeper returns a keeper whose marks are folders in dir, by default a temporary folder. The
// first mark creates it.
func NewKeeper(dir string) *Keeper { return &Keeper{dir: cmp.Or(dir, TempName())} }

// Close ends the watchdog and all programs that still run.
func (k *Keeper) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.watchdog.close()
	k.watchdog = nil
	_ = os.Remove(k.dir) // fails if another driver has marks there
	return nil
}

// TempName returns the unguessable path of a temporary folder that does not exist yet.
func TempName() string { return filepath.Join(os.TempDir(), "graphrun-"+rand.Text()) }

// Program is a program that will run or runs. All methods but Kill belong to one goroutine.
type Program struct {
	keeper *Keeper
	dir    string
	leader int // process id, or 0 before the start
	group  group
}

// NewProgram creates a program's folder, its mark. After an error, the program works without a folder.
func (k *Keeper) NewProgram() (*Program, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.watchdog == nil { // before the program starts
		k.watchdog = newWatchdog()
	}
	p := &Program{keeper: k}
	err := os.MkdirAll(k.dir, 0o700)
	if err == nil {
		k.dir, err = filepath.Abs(k.dir)
	}
	if err == nil {
		p.dir, err = os.MkdirTemp(k.dir, "task-")
	}
	return p, err
}

// Dir returns the program's folder, which is removed with it, or "".
func (p *Program) Dir() string { return p.dir }

// Start starts the program in a group of its own.
func (p *Program) Start(cmd *exec.Cmd) error {
	OwnGroup(cmd)
	if p.dir != "" {
		cmd.Env = append(slices.Clip(cmd.Env), markVariable+"="+p.dir)
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	p.leader = cmd.Process.Pid
	p.keeper.notifyWatchdog("+", p.leader) // at once, since this process may be killed
	p.group.adopt(cmd)
	return nil
}

// Stop asks the program and its group to end, and kills what is left after the grace or when kill is
// closed. The caller closes ended when the program has ended; if it is closed already, Stop does
// nothing and returns false.
func (p *Program) Stop(cmd *exec.Cmd, ended <-chan struct{}, grace time.Duration, kill <-chan struct{}) bool {
	select {
	case <-ended:
		return false
	default:
	}
	p.group.terminate(cmd)
	patience := time.NewTimer(grace)
	defer patience.Stop()
	select {
	case <-ended: // others of its group may still clean up
		p.awaitGroup(cmd, patience.C, kill)
	case <-patience.C:
	case <-kill:
	}
	p.Kill(cmd)
	<-ended
	return true
}

// awaitGroup waits until the group is empty, the timer patience fires or kill is closed. It polls,
// since nothing reports the end of grandchildren.
func (p *Program) awaitGroup(cmd *exec.Cmd, patience <-chan time.Time, kill <-chan struct{}) {
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for p.group.isAlive(cmd) {
		select {
		case <-look.C:
		case <-patience:
			return
		case <-kill:
			return
		}
	}
}

// Kill ends the program, its group and all processes with its mark.
func (p *Program) Kill(cmd *exec.Cmd) {
	p.group.kill(cmd)
	if p.dir != "" {
		killMarked(p.dir)
	}
}

// Close forgets a program that has ended. Its remaining children continue.
func (p *Program) Close() {
	p.group.release()
	if p.leader != 0 {
		p.keeper.notifyWatchdog("-", p.leader)
	}
	if p.dir != "" {
		_ = os.RemoveAll(p.dir)
	}
}

// killTimeout bounds how long killed processes may take to disappear.
const killTimeout = 5 * time.Second

// KillLeftovers kills the programs with marks in the folder of a dead keeper, waits until they are
// gone, and removes the folder. No keeper may use it. The error names a process that can't be killed.
func KillLeftovers(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	var marks []string
	for _, entry := range entries {
		marks = append(marks, filepath.Join(dir, entry.Name()))
	}
	for began := time.Now(); len(marks) > 0; time.Sleep(5 * time.Millisecond) {
		left := killMarked(marks...)
		if len(left) == 0 {
			break
		}
		if time.Since(began) > killTimeout {
			return fmt.Errorf("process %d of the driver before still runs and can't be ended; try again when it is gone", left[0])
		}
	}
	return os.RemoveAll(dir)
}

// notifyWatchdog reports the start ("+") or end ("-") of a group to the watchdog.
func (k *Keeper) notifyWatchdog(op string, group int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.watchdog.notify(op, group)
}

// watchdog is a small process that ends groups when its stdin closes, which means that this
// process is gone.
type watchdog struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
}
