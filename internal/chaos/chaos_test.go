//go:build linux

// The trials.

package chaos

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	// timeEnv sets for how long the test disturbs runs: 1h, 2m.
	timeEnv = "GRAPHRUN_CHAOS"
	// seedEnv is the seed of a single trial.
	seedEnv = "GRAPHRUN_CHAOS_SEED"
	// keepEnv names a folder for the trials that failed.
	keepEnv = "GRAPHRUN_CHAOS_KEEP"
)

// maxFailed is the number of failed trials after which the test stops.
const maxFailed = 5

// defaultTime is for how long the test disturbs runs if timeEnv is not set.
const defaultTime = 4 * time.Second

func TestChaos(t *testing.T) {
	if _, err := exec.LookPath("flock"); err != nil {
		t.Skip("there is no flock, by which the programs of tasks tell who is alive")
	}
	during, err := time.ParseDuration(os.Getenv(timeEnv))
	if err != nil {
		during = defaultTime
	}
	all := listDisturbances()
	all = slices.DeleteFunc(all, func(d disturbance) bool { return d.slow && during < 10*time.Minute })
	mounts := canMount(t.TempDir())
	if !mounts {
		t.Log("no disk is filled: this user can't mount one")
	}
	seed, err := strconv.ParseUint(os.Getenv(seedEnv), 10, 64)
	single := err == nil
	if !single {
		seed = uint64(time.Now().UnixNano())
	}
	total := counts{}
	var mu sync.Mutex
	var workers sync.WaitGroup
	end := time.Now().Add(during)
	next, failed := seed, 0
	for range 2 {
		workers.Go(func() {
			for first := true; ; first = false {
				mu.Lock()
				mine := next
				next++
				enough := failed >= maxFailed
				mu.Unlock()
				if single && mine > seed || !first && (time.Now().After(end) || enough) {
					return
				}
				var done counts
				held := t.Run(fmt.Sprint("seed ", mine), func(t *testing.T) { done = runTrial(t, mine, all, mounts) })
				mu.Lock()
				if !held {
					failed++
				}
				for kind, n := range done {
					total[kind] += n
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	t.Log(total)
}

// String lists the kinds, sorted.
func (c counts) String() string {
	lines := make([]string, 0, len(c))
	for kind, n := range c {
		lines = append(lines, fmt.Sprintf("%6d %s", n, kind))
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[7:], b[7:]) })
	return "\n" + strings.Join(lines, "\n")
}

// runTrial runs one trial and returns what was done, by kind.
func runTrial(t *testing.T, seed uint64, all []disturbance, mounts bool) counts {
	random := rand.New(rand.NewPCG(seed, 1))
	f := newFlow(random)
	dir, err := os.MkdirTemp(os.Getenv(keepEnv), "chaos-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s=%d tries it again; what is left is in %s", seedEnv, seed, dir)
		} else if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	calm := newTrial(t, seed, f, filepath.Join(dir, "calm"))
	want, took := calm.runUndisturbed()
	if t.Failed() {
		return nil
	}
	x := newTrial(t, seed, f, filepath.Join(dir, "chaos"))
	if x.smallDisk = mounts && random.IntN(2) == 0; x.smallDisk {
		x.mountSmallDisk()
	}
	stop := make(chan struct{})
	people := x.answerAll(seed, stop)
	plan := x.planDisturbances(random, all)
	completed := false
	for i := 0; i < len(plan) && !completed && !t.Failed(); {
		var done bool
		done, completed = x.disturbOnce(plan[i], took, rand.New(rand.NewPCG(seed, uint64(100+i))))
		if done {
			i++
		}
	}
	if !completed {
		x.resumeToEnd()
	}
	close(stop)
	people.Wait()
	for _, p := range x.others {
		x.awaitExit(p)
		if code := p.exitCode(); code != 0 && code != 10 {
			x.failUnlessStoreError(p)
		}
	}
	if !t.Failed() {
		x.checkEnd(want)
	}
	x.counts["trials"]++
	return x.counts
}

// planDisturbances chooses the disturbances of a trial at random.
func (x *trial) planDisturbances(random *rand.Rand, all []disturbance) []*disturbance {
	var bag []*disturbance
	for i := range all {
		for range all[i].often {
			if all[i].needs == nil || all[i].needs(x) {
				bag = append(bag, &all[i])
			}
		}
	}
	var out []*disturbance
	for range 1 + random.IntN(7) {
		out = append(out, bag[random.IntN(len(bag))])
	}
	return out
}

// mountSmallDisk mounts a small disk for the store.
func (x *trial) mountSmallDisk() {
	place := filepath.Dir(x.store)
	if err := syscall.Mount("tmpfs", place, "tmpfs", 0, "size=16m"); err != nil {
		x.Fatal(err)
	}
	x.Cleanup(func() {
		if x.Failed() {
			if out, err := exec.Command("cp", "-a", place, place+"-kept").CombinedOutput(); err != nil {
				x.Logf("%v: %s", err, out)
			}
		}
		for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
			err := syscall.Unmount(place, 0) // a killed process may still be there
			if err == nil {
				return
			}
			if !errors.Is(err, syscall.EBUSY) || time.Now().After(end) {
				x.Errorf("unmount: %v; it is used by %s", err, findUsers(place))
				return
			}
		}
	})
}

// findUsers names the processes that have files of a folder open.
func findUsers(dir string) []string {
	var out []string
	open, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, fd := range open {
		if file, err := os.Readlink(fd); err == nil && strings.HasPrefix(file, dir) {
			command, _ := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(fd)), "cmdline"))
			out = append(out, strings.ReplaceAll(string(command), "\x00", " ")+file)
		}
	}
	return out
}

// runUndisturbed runs the flow without disturbances, and returns its result and how long it took.
func (x *trial) runUndisturbed() (want map[string]any, took time.Duration) {
	stop := make(chan struct{})
	people := x.answerAll(x.seed, stop)
	began := time.Now()
	p := x.callGraphrun("run", "flow.yaml", "--run-id", runID, "--no-input", "-o", "jsonl")
	for p.exitCode() == 10 || p.exitCode() == 2 && strings.Contains(p.stderr.String(), "is driven by") { // by the process that answers
		p = x.callGraphrun("resume", runID, "--no-input", "-o", "jsonl")
	}
	took = time.Since(began)
	close(stop)
	people.Wait()
	if p.exitCode() != 0 {
		x.Errorf("undisturbed: %s\n%s", p, x.flow.text)
		return nil, 0
	}
	result := x.showResult()
	return comparableResult(result, x.flow), took
}

// startDriver starts the run or resumes it.
func (x *trial) startDriver() *process {
	args := []string{"run", "flow.yaml", "--run-id", runID}
	if x.hasRun() {
		args = []string{"resume", runID}
	}
	p := x.startProcess(append(args, "--no-input", "-o", "jsonl")...)
	x.drives = append(x.drives, p)
	return p
}

// disturbOnce disturbs a driver once, unless it exits before; took is how long the whole run takes.
// done reports whether it did, and completed whether the run has completed.
func (x *trial) disturbOnce(d *disturbance, took time.Duration, random *rand.Rand) (done, completed bool) {
	p := x.startDriver()
	x.waitForMoment(p, took, random)
	if done = p.isRunning(); done {
		x.noteWatchdogs(p)
		x.counts[d.name]++
		d.do(x, p, random)
	}
	x.awaitExit(p)
	x.checkExit(p)
	x.checkProgress()
	return done, p.exitCode() == 0
}

// waitForMoment waits for the moment of a disturbance: a random moment, or the moment after the program
// of a task has started.
func (x *trial) waitForMoment(p *process, took time.Duration, random *rand.Rand) {
	wait := time.Duration(random.Float64() * random.Float64() * float64(took))
	next := random.IntN(3)
	if next == 0 {
		select {
		case <-p.gone:
		case <-time.After(wait):
		}
		return
	}
	began := x.countEffects() + next
	for p.isRunning() && x.countEffects() < began {
		time.Sleep(2 * time.Millisecond)
	}
	time.Sleep(min(wait/20, 50*time.Millisecond))
}

// countEffects counts the lines of the log of effects.
func (x *trial) countEffects() int {
	text, err := os.ReadFile(x.path("effects"))
	if err != nil {
		x.Fatal(err)
	}
	return strings.Count(string(text), "\n")
}

// checkExit checks how a driver exited.
func (x *trial) checkExit(p *process) {
	said := p.stderr.String()
	switch code := p.exitCode(); {
	case p.signalled && (code == -1 || strings.Contains("\n"+said, "\nSIGQUIT: quit")), code == 0, code == 10, code == 130:
	case code == 2 && (strings.Contains(said, "is driven by") || strings.Contains(said, "no run")):
	case code == 1:
		x.failUnlessStoreError(p)
	default:
		x.Error(p)
	}
}

// resumeToEnd resumes the run until it has completed.
func (x *trial) resumeToEnd() {
	for end := time.Now().Add(maxWait); ; {
		p := x.startDriver()
		x.awaitExit(p)
		x.checkExit(p)
		x.checkProgress()
		if p.exitCode() == 0 || x.Failed() {
			return
		}
		if time.Now().After(end) {
			x.Errorf("the run does not come to its end: %s", p)
			return
		}
	}
}
