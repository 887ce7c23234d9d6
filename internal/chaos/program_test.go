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

// trial is one run and the processes that disturb it.
type trial struct {
	*testing.T
	seed  uint64
	dir   string
	flow  *flow
	store string // the file
	// undamaged is true until a disturbance may make the run fail.
	undamaged bool
	// drives are the processes that drove the run, or tried to.
	drives []*process
	people []*person
	// others are the processes that drive other runs.
	others []*process
	// watchdogs are the watchdogs of the drivers, by process id and start time.
	watchdogs map[string]bool
	counts    counts
	// before holds the progress of the run after each driver.
	before []progress
	// smallDisk reports whether the store is on a small disk.
	smallDisk bool
	// taken are the answers that a resume gave; perhaps holds the answers of disturbed resumes.
	taken   []person
	perhaps []string
}

// counts holds how often each kind of disturbance was done.
type counts map[string]int

const runID = "r"

func (x *trial) path(name string) string { return filepath.Join(x.dir, name) }

// newTrial makes the folder of a trial.
func newTrial(t *testing.T, seed uint64, f *flow, dir string) *trial {
	t.Helper()
	x := &trial{T: t, seed: seed, dir: dir, flow: f, undamaged: true, watchdogs: map[string]bool{}, counts: counts{}}
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
	// signalled reports that the process was sent a signal that ends it, perhaps before it handled
	// signals.
	signalled bool
}

// startProcess starts graphrun.
func (x *trial) startProcess(args ...string) *process {
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
		_ = p.cmd.Wait() // its ProcessState says how it ended
		close(p.gone)
	}()
	return p
}

// maxWait is how long any step may take, even if other processes keep the disk busy.
const maxWait = 5 * time.Minute

// callGraphrun runs graphrun and waits until it exits.
func (x *trial) callGraphrun(args ...string) *process {
	p := x.startProcess(args...)
	x.awaitExit(p)
	return p
}

// awaitExit waits until a process has exited.
func (x *trial) awaitExit(p *process) {
	select {
	case <-p.gone:
	case <-time.After(maxWait):
		p.sendSignal(syscall.SIGQUIT)
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

// exitCode returns the exit code, or -1 after a signal.
func (p *process) exitCode() int { return p.cmd.ProcessState.ExitCode() }

// isRunning reports whether the process has not exited yet.
func (p *process) isRunning() bool {
	select {
	case <-p.gone:
		return false
	default:
		return true
	}
}

func (p *process) sendSignal(s syscall.Signal) {
	p.signalled = p.signalled || s != syscall.SIGSTOP && s != syscall.SIGCONT
	_ = p.cmd.Process.Signal(s) // it may be gone
}

// output returns what the process printed.
func (p *process) output() string {
	text, _ := os.ReadFile(p.stdout.Name())
	return string(text)
}

// String describes the process and how it ended in one line.
func (p *process) String() string {
	return fmt.Sprintf("graphrun %s: %s: %s", strings.Join(p.args, " "), p.cmd.ProcessState, p.stderr.String())
}

// member is a running program of a task.
type member struct {
	key string
	pid int
	far bool
}

// listRunningPrograms lists the running programs that have logged their start.
func (x *trial) listRunningPrograms() (out []member) {
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

// listLeftProcesses lists the processes that still belong to the trial.
func (x *trial) listLeftProcesses() (out []string) {
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
		if err == nil && bytes.Contains(env, []byte(x.dir+"/")) || x.watchdogs[processIdentity(pid)] {
			out = append(out, fmt.Sprintf("%d %s", pid, bytes.ReplaceAll(command, []byte{0}, []byte{' '})))
		}
	}
	return out
}

// processIdentity returns a string that distinguishes a process from later ones with the same id.
func processIdentity(pid int) string {
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

// noteWatchdogs records the watchdogs of a driver.
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
		if name := processIdentity(pid); err == nil && name != "" && bytes.Contains(command, []byte("watchdog")) {
			x.watchdogs[name] = true
		}
	}
}
