//go:build linux

// Clocks that are set during a run, and between its drivers.

package chaos

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// clockFlow takes about 1.5 s.
const clockFlow = `graphrun: v1
name: clock
start: a
limits: {timeout: 30m, node_timeout: 20m, max_steps: 10}
nodes:
  a: {kind: exec, command: [sh, task.sh], env: {IDX: "-", FAILS: "1", FAR: "no", TAKES: "0.5"}, retry: {max_attempts: 2, initial_interval: 200ms}}
  b: {kind: wait, for: 300ms}
  c: {kind: wait, for: 300ms}
edges: [{from: a, to: b}, {from: b, to: c}, {from: c, to: END}]
`

// A wait of a second takes a second, even if the clock is set meanwhile: no timeout comes early or
// late, and no duration is negative.
func TestClockIsSet(t *testing.T) {
	for _, seconds := range []int64{7200, -7200} {
		for _, between := range []bool{false, true} {
			t.Run(fmt.Sprint(seconds, between), func(t *testing.T) { runClockTrial(t, seconds, between) })
		}
	}
}

func runClockTrial(t *testing.T, seconds int64, between bool) {
	t.Parallel()
	x := newTrial(t, 0, &flow{text: clockFlow}, t.TempDir())
	p := x.startProcess("run", "flow.yaml", "--run-id", runID, "--no-input", "-o", "jsonl")
	for p.isRunning() && x.countEffects() == 0 {
		time.Sleep(5 * time.Millisecond)
	}
	if between {
		p.sendSignal(syscall.SIGKILL)
		x.awaitExit(p)
	}
	setClock(t, x.path("clock"), seconds)
	if between {
		p = x.startProcess("resume", runID, "--no-input", "-o", "jsonl")
	}
	x.awaitExit(p)
	if p.exitCode() != 0 {
		t.Errorf("%s: %s", p, p.output())
	}
	_ = x.showResult()
	x.checkTimes(seconds, between)
}

// checkTimes checks the times of all events.
func (x *trial) checkTimes(seconds int64, between bool) {
	p := x.callGraphrun("runs", "events", runID, "-o", "jsonl")
	var last time.Time
	told := 0
	for line := range strings.Lines(p.output()) {
		var e struct {
			Event    string
			Time     time.Time
			Duration *float64 `json:"duration_ms"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			x.Fatal(err)
		}
		if e.Duration != nil {
			told++
		}
		most := float64(time.Minute.Milliseconds())
		if between && seconds > 0 {
			most = float64((3 * time.Hour).Milliseconds()) // by the clock, two hours have passed
		}
		if d := e.Duration; d != nil && (*d < 0 || *d > most) {
			x.Errorf("%s took %v ms", e.Event, *d)
		}
		if e.Time.Before(last) {
			x.Errorf("%s is at %s, after %s", e.Event, e.Time, last)
		}
		last = e.Time
	}
	if told == 0 || p.exitCode() != 0 {
		x.Errorf("no durations: %s: %s", p, p.output())
	}
	if _, err := os.Stat(x.path("twice")); err == nil {
		x.Error("a program was alive twice")
	}
}
