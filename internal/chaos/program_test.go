//go:build linux

// Processes of a trial.

package chaos

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// trial is one run and those who disturb it.
type trial struct {
	*testing.T
	seed  uint64
	dir   string
	flow  *flow
	store string // the file
	// gently says that nothing has happened yet that may make a run fail.
	gently bool
	// drives are those that drove the run, or tried to.
	drives []*process
	people []*person
	// others drive other runs.
	others []*process
	// watchdogs are those of drivers, by number and beginning.
	watchdogs map[string]bool
	counts    counts
	// before is how the run stood when a driver was gone.
	before []standing
	// smallDisk says that the store is on one.
	smallDisk bool
	// taken are answers that a resume gave; perhaps, those of one that was disturbed.
	taken   []person
	perhaps []string
}

// counts counts what was done, by kind.
type counts map[string]int

const runID = "r"

func (x *trial) path(name string) string { return filepath.Join(x.dir, name) }

// newTrial makes the folder of a trial.
func newTrial(t *testing.T, seed uint64, f *flow, dir string) *trial {
	t.Helper()
	x := &trial{T: t, seed: seed, dir: dir, flow: f, gently: true, watchdogs: map[string]bool{}, counts: counts{}}
	for _, name := range []string{"alive", "tmp", "store"} {
		if err := os.MkdirAll(x.path(name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	x.store = filepath.Join(x.path("store"), "runs.db")
	files := map[string]string{"flow.yaml": f.text, "task.sh": task, "effects": ""}
	if f.alone {
		files["alone"] = ""
	}
	for name, text := range files {
		if err := os.WriteFile(x.path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	setClock(t, x.path("clock"), 0)
	return x
}

// process is one call of graphrun.
type process struct {
	args   []string
	cmd    *exec.Cmd
	stdout *os.File
	stderr bytes.Buffer
	gone   chan struct{}
	// asked says that it was sent a signal that ends it, perhaps before it listens.
	asked bool
}

// start starts graphrun.
func (x *trial) start(args ...string) *process {
	p := &process{args: args, gone: make(chan struct{})}
	p.cmd = exec.Command(os.Args[0], append(args, "--store", x.store)...)
	p.cmd.Dir = x.dir
	p.cmd.Env = append(os.Environ(), programEnv+"=1", clockEnv+"="+x.path("clock"), "TMPDIR="+x.path("tmp"),
		"XDG_CONFIG_HOME="+x.path("config"), "GORACE=atexit_sleep_ms=0")
	p.cmd.Stderr = &p.stderr
	var err error
	if p.stdout, err = os.CreateTemp(x.dir, "stdout-"); err == nil {
		p.cmd.Stdout = p.stdout
		err = p.cmd.Start()
	}
	if err != nil {
		x.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // how it ended is seen in its state
		close(p.gone)
	}()
	return p
}

// mostTime is how long anything may take, while others keep the disk busy included.
const mostTime = 5 * time.Minute

// call runs graphrun to its end.
func (x *trial) call(args ...string) *process {
	p := x.start(args...)
	x.await(p)
	return p
}

// await waits until a process is gone.
func (x *trial) await(p *process) {
	select {
	case <-p.gone:
	case <-time.After(mostTime):
		p.signal(syscall.SIGQUIT)
		<-p.gone
		x.Errorf("graphrun %s does not end; it says:\n%s", strings.Join(p.args, " "), p.stderr.String())
	}
	said := p.stderr.String()
	for _, bad := range []string{"panic:", "fatal error:", "DATA RACE"} {
		if strings.Contains(said, bad) {
			x.Errorf("graphrun %s: %s", strings.Join(p.args, " "), said)
		}
	}
}

// code is the exit code; -1 after a signal.
func (p *process) code() int { return p.cmd.ProcessState.ExitCode() }

// running reports whether it has not ended yet.
func (p *process) running() bool {
	select {
	case <-p.gone:
		return false
	default:
		return true
	}
}

func (p *process) signal(s syscall.Signal) {
	p.asked = p.asked || s != syscall.SIGSTOP && s != syscall.SIGCONT
	_ = p.cmd.Process.Signal(s) // it may be gone
}

// text is what it printed.
func (p *process) text() string {
	text, _ := os.ReadFile(p.stdout.Name())
	return string(text)
}

// String is a line of what became of it.
func (p *process) String() string {
	return fmt.Sprintf("graphrun %s: %s: %s", strings.Join(p.args, " "), p.cmd.ProcessState, p.stderr.String())
}

// member is a program of a task that is at work.
type member struct {
	key string
	pid int
	far bool
}

// members are the programs at work whose beginning was logged.
func (x *trial) members() (out []member) {
	text, err := os.ReadFile(x.path("effects"))
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 6 || fields[0] != "begin" {
			continue
		}
		pid, _ := strconv.Atoi(fields[4])
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err == nil && bytes.Contains(env, []byte("GRAPHRUN_TASK_KEY="+fields[1])) {
			out = append(out, member{fields[1], pid, fields[5] != "no"})
		}
	}
	return out
}

// left are the processes that still have to do with the trial.
func (x *trial) left() (out []string) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		x.Fatal(err)
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && bytes.Contains(env, []byte(x.dir+"/")) || x.watchdogs[identity(pid)] {
			out = append(out, fmt.Sprintf("%d %s", pid, bytes.ReplaceAll(command, []byte{0}, []byte{' '})))
		}
	}
	return out
}

// identity tells a process from others that have its number later.
func identity(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" {
		return ""
	}
	return fmt.Sprint(pid, " ", fields[19])
}

// noteWatchdogs remembers the watchdogs of a driver.
func (x *trial) noteWatchdogs(p *process) {
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", p.cmd.Process.Pid))
	if err != nil {
		x.Fatal(err)
	}
	var children []byte
	for _, list := range lists {
		text, _ := os.ReadFile(list) // the thread may be gone
		children = append(children, text...)
	}
	for _, field := range strings.Fields(string(children)) {
		pid, _ := strconv.Atoi(field)
		command, err := os.ReadFile("/proc/" + field + "/cmdline")
		if name := identity(pid); err == nil && name != "" && bytes.Contains(command, []byte("watchdog")) {
			x.watchdogs[name] = true
		}
	}
}
