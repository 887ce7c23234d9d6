//go:build linux

// Disturbances of a run. Each function starts its disturbance while a driver works. When it returns,
// the disturbance has ended or continues next to the driver.

package chaos

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	_ "modernc.org/sqlite" // to lock the store
)

// disturbance is one kind of disturbance.
type disturbance struct {
	name string
	// often is its relative frequency.
	often int
	do    func(x *trial, driver *process, random *rand.Rand)
	// slow marks a disturbance that takes longer than the store waits for a lock.
	slow bool
	// needs reports whether the disturbance is possible in a trial; nil means always.
	needs func(x *trial) bool
}

// listDisturbances lists all kinds of disturbances.
func listDisturbances() []disturbance {
	signals := func(list ...syscall.Signal) func(*trial, *process, *rand.Rand) {
		return func(_ *trial, driver *process, random *rand.Rand) {
			for _, s := range list {
				driver.sendSignal(s)
				time.Sleep(time.Duration(random.IntN(30)) * time.Millisecond)
			}
		}
	}
	return []disturbance{
		{name: "SIGKILL", often: 6, do: signals(syscall.SIGKILL)},
		{name: "SIGTERM", often: 3, do: signals(syscall.SIGTERM)},
		{name: "SIGINT", often: 2, do: signals(syscall.SIGINT)},
		{name: "SIGHUP", often: 2, do: signals(syscall.SIGHUP)},
		{name: "SIGQUIT", often: 1, do: signals(syscall.SIGQUIT)},
		{name: "SIGTERM twice", often: 2, do: signals(syscall.SIGTERM, syscall.SIGTERM)},
		{name: "SIGTERM, SIGKILL", often: 2, do: signals(syscall.SIGTERM, syscall.SIGKILL)},
		{name: "stop and go on", often: 2, do: stopDriver},
		{name: "kill a child", often: 4, do: killMember(syscall.SIGKILL)},
		{name: "terminate a child", often: 2, do: killMember(syscall.SIGTERM)},
		{name: "stop a child", often: 2, do: stopMember},
		{name: "set the clock", often: 3, do: shiftClock},
		{name: "lock the store", often: 3, do: lockStore},
		{name: "lock the store for long", often: 1, do: lockStoreLong, slow: true},
		{name: "fill the disk", often: 4, do: fillDisk, needs: func(x *trial) bool { return x.smallDisk }},
		{name: "resume at once", often: 3, do: resumeAtOnce},
		{name: "kill the watchdog and the driver", often: 2, do: killWatchdog},
		{name: "start another run", often: 3, do: startAnother},
		{name: "kill and resume at once", often: 3, do: func(x *trial, driver *process, random *rand.Rand) {
			driver.sendSignal(syscall.SIGKILL)
			resumeAtOnce(x, driver, random)
		}},
		{name: "resume with an answer", often: 2, do: resumeWithAnswer},
		{name: "cancel", often: 3, do: callCommand("runs", "cancel", runID)},
		{name: "cancel by two", often: 1, do: func(x *trial, driver *process, random *rand.Rand) {
			other := x.startProcess("runs", "cancel", runID)
			callCommand("runs", "cancel", runID)(x, driver, random)
			x.awaitExit(other)
		}},
		{name: "pause", often: 2, do: callCommand("runs", "pause", runID)},
		{name: "look", often: 2, do: readRun},
	}
}

// stopDriver stops the driver for a while, in which no other process can drive the run.
func stopDriver(x *trial, driver *process, random *rand.Rand) {
	driver.sendSignal(syscall.SIGSTOP)
	if random.IntN(2) == 0 {
		x.drives = append(x.drives, x.callGraphrun("resume", runID, "--no-input", "-o", "jsonl"))
	}
	time.Sleep(time.Duration(random.IntN(400)) * time.Millisecond)
	driver.sendSignal(syscall.SIGCONT)
}

// pickMember returns a program that runs, or nil.
func (x *trial) pickMember(random *rand.Rand, far bool) *member {
	var list []member
	for _, m := range x.listRunningPrograms() {
		if far || !m.far {
			list = append(list, m)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return &list[random.IntN(len(list))]
}

// killMember kills a program that leaves no process behind when it is killed.
func killMember(s syscall.Signal) func(*trial, *process, *rand.Rand) {
	return func(x *trial, _ *process, random *rand.Rand) {
		if m := x.pickMember(random, false); m != nil {
			x.undamaged = false
			_ = syscall.Kill(m.pid, s) // it may have ended
		}
	}
}

func stopMember(x *trial, _ *process, random *rand.Rand) {
	if m := x.pickMember(random, true); m != nil {
		_ = syscall.Kill(m.pid, syscall.SIGSTOP)
		time.Sleep(time.Duration(random.IntN(500)) * time.Millisecond)
		_ = syscall.Kill(m.pid, syscall.SIGCONT)
	}
}

// shiftClock sets the clock, and sometimes sets it back a while later.
func shiftClock(x *trial, _ *process, random *rand.Rand) {
	setClock(x.T, x.path("clock"), []int64{-86400, -3600, -20, -1, 1, 20, 3600, 86400}[random.IntN(8)])
	if random.IntN(2) == 0 {
		time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
		setClock(x.T, x.path("clock"), 0)
	}
}

func lockStore(x *trial, _ *process, random *rand.Rand) {
	x.holdLock(time.Duration(100+random.IntN(900)) * time.Millisecond)
}

// lockStoreLong locks the store for longer than a driver waits.
func lockStoreLong(x *trial, driver *process, _ *rand.Rand) {
	x.undamaged = false
	x.holdLock(13 * time.Second)
	x.awaitExit(driver)
}

// holdLock keeps a write transaction of the store open.
func (x *trial) holdLock(during time.Duration) {
	db, err := sql.Open("sqlite", "file:"+x.store+"?mode=rw&_txlock=immediate&_pragma=busy_timeout(3000)")
	if err != nil {
		x.Fatal(err)
	}
	defer db.Close()
	tx, err := db.Begin()
	if err != nil {
		return // there is no store yet, or another process has locked it
	}
	time.Sleep(during)
	if err := tx.Rollback(); err != nil {
		x.Error(err)
	}
}

// fillDisk fills the disk of the store, and frees it after a while.
func fillDisk(x *trial, driver *process, random *rand.Rand) {
	x.undamaged = false
	ballast := filepath.Join(filepath.Dir(x.store), "ballast")
	f, err := os.Create(ballast)
	if err != nil {
		return // it is full
	}
	block := make([]byte, 4096)
	left := random.IntN(5) // blocks
	for err == nil {
		_, err = f.Write(block)
	}
	if info, err := f.Stat(); err == nil {
		_ = f.Truncate(max(0, info.Size()-int64(left*len(block))))
	}
	_ = f.Close()
	if random.IntN(3) > 0 {
		select {
		case <-driver.gone:
		case <-time.After(2 * time.Second):
		}
	}
	time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
	if err := os.Remove(ballast); err != nil {
		x.Error(err)
	}
}

// resumeAtOnce resumes the run from several processes at the same time.
func resumeAtOnce(x *trial, _ *process, random *rand.Rand) {
	var all []*process
	for range 2 + random.IntN(2) {
		all = append(all, x.startProcess("resume", runID, "--no-input", "-o", "jsonl"))
	}
	x.drives = append(x.drives, all...)
	for _, p := range all {
		x.awaitExit(p)
	}
}

// killWatchdog kills the process that cleans up after a dead driver, and then the driver.
func killWatchdog(x *trial, driver *process, _ *rand.Rand) {
	for name := range x.watchdogs {
		var pid int
		if _, err := fmt.Sscan(name, &pid); err == nil && processIdentity(pid) == name {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	driver.sendSignal(syscall.SIGKILL)
}

// startAnother starts an undisturbed run of the same flow in the same store.
func startAnother(x *trial, _ *process, _ *rand.Rand) {
	x.others = append(x.others, x.startProcess("run", "flow.yaml", "--run-id", fmt.Sprint("other", len(x.others)), "--no-input", "-o", "json"))
}

// resumeWithAnswer resumes the run with an answer that somebody may have given already.
func resumeWithAnswer(x *trial, driver *process, random *rand.Rand) {
	if len(x.people) == 0 {
		return
	}
	who := x.people[random.IntN(len(x.people))]
	said := fmt.Sprintf("by resume %d", random.IntN(100))
	if random.IntN(2) == 0 {
		driver.sendSignal(syscall.SIGTERM)
		x.awaitExit(driver)
	}
	p := x.callGraphrun("resume", runID, "--no-input", "-o", "jsonl", "--answer", who.node+"="+said)
	x.drives = append(x.drives, p)
	heard := p.stderr.String()
	switch {
	case strings.Contains(heard, "was answered"), strings.Contains(heard, "was not used"), strings.Contains(heard, "no run"):
	case p.exitCode() == 0 || p.exitCode() == 10:
		x.taken = append(x.taken, person{node: who.node, key: who.key, text: said})
	default:
		x.perhaps = append(x.perhaps, said)
	}
}

// callCommand returns a disturbance that calls graphrun next to the driver.
func callCommand(args ...string) func(*trial, *process, *rand.Rand) {
	return func(x *trial, _ *process, _ *rand.Rand) {
		p := x.callGraphrun(args...)
		switch p.exitCode() {
		case 0, 2:
		case 1:
			if !strings.Contains(p.stderr.String(), "ended before it could") {
				x.failUnlessStoreError(p)
			}
		default:
			x.Error(p)
		}
	}
}

// readRun reads the run with every reading command, next to its driver.
func readRun(x *trial, _ *process, _ *rand.Rand) {
	for _, args := range [][]string{{"runs", "show", runID, "-o", "json"}, {"runs", "list"}, {"runs", "events", runID}, {"runs", "pending"}, {"why", runID}, {"logs", runID}} {
		p := x.callGraphrun(args...)
		if p.exitCode() != 0 && !strings.Contains(p.stderr.String(), "no run") {
			x.failUnlessStoreError(p)
		}
	}
}

// failUnlessStoreError fails the trial, unless an earlier disturbance may have broken the store.
func (x *trial) failUnlessStoreError(p *process) {
	if x.undamaged {
		x.Error(p)
	}
}
