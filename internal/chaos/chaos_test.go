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
	// timeEnv is for how long runs are disturbed: 1h, 2m.
	timeEnv = "GRAPHRUN_CHAOS"
	// seedEnv is the seed of a single trial.
	seedEnv = "GRAPHRUN_CHAOS_SEED"
	// keepEnv names a folder for the trials that failed.
	keepEnv = "GRAPHRUN_CHAOS_KEEP"
)

// mostFailed is how many trials may fail before no more are tried.
const mostFailed = 5

// usualTime is for how long runs are disturbed when nobody says.
const usualTime = 12 * time.Second

func TestChaos(t *testing.T) {
	if _, err := exec.LookPath("flock"); err != nil {
		t.Skip("there is no flock, by which the programs of tasks tell who is alive")
	}
	during, err := time.ParseDuration(os.Getenv(timeEnv))
	if err != nil {
		during = usualTime
	}
	all := disturbances()
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
				enough := failed >= mostFailed
				mu.Unlock()
				if single && mine > seed || !first && (time.Now().After(end) || enough) {
					return
				}
				var done counts
				held := t.Run(fmt.Sprint("seed ", mine), func(t *testing.T) { done = disturb(t, mine, all, mounts) })
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

// disturb is one trial.
func disturb(t *testing.T, seed uint64, all []disturbance, mounts bool) counts {
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
	want, took := calm.calmly()
	if t.Failed() {
		return nil
	}
	x := newTrial(t, seed, f, filepath.Join(dir, "chaos"))
	if x.smallDisk = mounts && random.IntN(2) == 0; x.smallDisk {
		x.mount()
	}
	stop := make(chan struct{})
	people := x.answerAll(seed, stop)
	plan := x.plan(random, all)
	completed := false
	for i := 0; i < len(plan) && !completed && !t.Failed(); {
		var done bool
		done, completed = x.round(plan[i], took, rand.New(rand.NewPCG(seed, uint64(100+i))))
		if done {
			i++
		}
	}
	if !completed {
		x.goOn()
	}
	close(stop)
	people.Wait()
	for _, p := range x.others {
		x.await(p)
		if code := p.code(); code != 0 && code != 10 {
			x.unlessRough(p)
		}
	}
	if !t.Failed() {
		x.checkEnd(want)
	}
	x.counts["trials"]++
	return x.counts
}

// plan draws the disturbances of a trial.
func (x *trial) plan(random *rand.Rand, all []disturbance) []*disturbance {
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

// mount puts the store on a small disk.
func (x *trial) mount() {
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
			err := syscall.Unmount(place, 0) // whoever was killed may not be gone yet
			if err == nil {
				return
			}
			if !errors.Is(err, syscall.EBUSY) || time.Now().After(end) {
				x.Errorf("unmount: %v; it is used by %s", err, usersOf(place))
				return
			}
		}
	})
}

// usersOf names the processes that have files of a folder open.
func usersOf(dir string) []string {
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

// calmly runs the flow without disturbing it.
func (x *trial) calmly() (want map[string]any, took time.Duration) {
	stop := make(chan struct{})
	people := x.answerAll(x.seed, stop)
	began := time.Now()
	p := x.call("run", "flow.yaml", "--run-id", runID, "--no-input", "-o", "jsonl")
	for p.code() == 10 || p.code() == 2 && strings.Contains(p.stderr.String(), "is driven by") { // by who answers
		p = x.call("resume", runID, "--no-input", "-o", "jsonl")
	}
	took = time.Since(began)
	close(stop)
	people.Wait()
	if p.code() != 0 {
		x.Errorf("undisturbed: %s\n%s", p, x.flow.text)
		return nil, 0
	}
	result := x.result()
	return comparable(result, x.flow), took
}

// drive begins the run or goes on with it.
func (x *trial) drive() *process {
	args := []string{"run", "flow.yaml", "--run-id", runID}
	if x.begun() {
		args = []string{"resume", runID}
	}
	p := x.start(append(args, "--no-input", "-o", "jsonl")...)
	x.drives = append(x.drives, p)
	return p
}

// round disturbs a driver once, unless it is gone before; took is how long the whole
// run takes. It reports whether the run has completed, too.
func (x *trial) round(d *disturbance, took time.Duration, random *rand.Rand) (done, completed bool) {
	p := x.drive()
	x.lurk(p, took, random)
	if done = p.running(); done {
		x.noteWatchdogs(p)
		x.counts[d.name]++
		d.do(x, p, random)
	}
	x.await(p)
	x.judge(p)
	x.stand()
	return done, p.code() == 0
}

// lurk waits for the moment of a disturbance: any, or just after the program of a
// task has begun.
func (x *trial) lurk(p *process, took time.Duration, random *rand.Rand) {
	wait := time.Duration(random.Float64() * random.Float64() * float64(took))
	next := random.IntN(3)
	if next == 0 {
		select {
		case <-p.gone:
		case <-time.After(wait):
		}
		return
	}
	began := x.effects() + next
	for p.running() && x.effects() < began {
		time.Sleep(2 * time.Millisecond)
	}
	time.Sleep(min(wait/20, 50*time.Millisecond))
}

// effects counts the lines of the log of effects.
func (x *trial) effects() int {
	text, err := os.ReadFile(x.path("effects"))
	if err != nil {
		x.Fatal(err)
	}
	return strings.Count(string(text), "\n")
}

// judge looks at how a driver ended.
func (x *trial) judge(p *process) {
	said := p.stderr.String()
	switch code := p.code(); {
	case p.asked && (code == -1 || strings.Contains("\n"+said, "\nSIGQUIT: quit")), code == 0, code == 10, code == 130:
	case code == 2 && (strings.Contains(said, "is driven by") || strings.Contains(said, "no run")):
	case code == 1:
		x.unlessRough(p)
	default:
		x.Error(p)
	}
}

// goOn goes on with the run until it has completed.
func (x *trial) goOn() {
	for end := time.Now().Add(mostTime); ; {
		p := x.drive()
		x.await(p)
		x.judge(p)
		x.stand()
		if p.code() == 0 || x.Failed() {
			return
		}
		if time.Now().After(end) {
			x.Errorf("the run does not come to its end: %s", p)
			return
		}
	}
}
