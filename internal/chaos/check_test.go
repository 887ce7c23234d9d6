//go:build linux

// What has to hold after each disturbance, and at the end of a trial.

package chaos

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/store/sqlite"
)

// progress is the progress of a run after a driver exited.
type progress struct {
	// ended counts the executions that had succeeded, by path, visit and element.
	ended map[string]int
	// effects is the length of the log of effects at that time.
	effects int
	events  int
}

// checkProgress reads the store, records the progress of the run, and checks that no event was lost.
func (x *trial) checkProgress() {
	s, err := sqlite.Open(x.store, sqlite.Options{ReadOnly: true})
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, sqlite.ErrOlder) || errors.Is(err, sqlite.ErrUnfinished) || err != nil && !x.undamaged {
		return // nothing was stored yet, or the full disk has no room for readers
	}
	if err != nil {
		x.Error(err)
		return
	}
	defer s.Close()
	events, err := s.Events(runID, 0, math.MaxInt)
	if errors.Is(err, store.ErrNoRun) {
		return
	}
	if err != nil {
		x.failUnlessFull(err)
		return
	}
	now := progress{ended: map[string]int{}, events: len(events)}
	x.countEnded(now.ended, events)
	text, err := os.ReadFile(x.path("effects"))
	if err != nil {
		x.Fatal(err)
	}
	now.effects = len(text)
	if n := len(x.before); n > 0 && x.before[n-1].events > now.events {
		x.Errorf("%d events were there, and %d are left", x.before[n-1].events, now.events)
	}
	x.before = append(x.before, now)
}

// hasRun reports whether the store holds the run.
func (x *trial) hasRun() bool {
	s, err := sqlite.Open(x.store, sqlite.Options{ReadOnly: true})
	if err != nil {
		return len(x.before) > 0
	}
	defer s.Close()
	_, err = s.Run(runID)
	return err == nil || !errors.Is(err, store.ErrNoRun)
}

func (x *trial) failUnlessFull(err error) {
	if x.undamaged {
		x.Error(err)
	}
}

// countEnded counts the executions that have succeeded, including those of subgraphs.
func (x *trial) countEnded(ended map[string]int, events []machine.Event) {
	begun := map[machine.TaskID]string{}
	for i := range events {
		e := &events[i]
		switch e.Kind {
		case machine.TaskBegan:
			index := "-"
			if e.Task.Element > 0 {
				index = fmt.Sprint(e.Task.Element - 1)
			}
			begun[e.Task] = fmt.Sprintf("%s:%s,%d,%s", runID, elements.ReplaceAllString(e.Node, ""), e.Visit, index)
		case machine.TaskEnded:
			if e.Failure == nil && len(e.Asks) == 0 {
				ended[begun[e.Task]]++
			}
		}
	}
}

var elements = regexp.MustCompile(`\[[0-9]+\]`)

// checkEffects checks that no task ran twice at the same time, and that no task ran again after it had
// succeeded.
func (x *trial) checkEffects() {
	if twice, err := os.ReadFile(x.path("twice")); err == nil {
		x.Errorf("alive twice at once: %s", twice)
	}
	text, err := os.ReadFile(x.path("effects"))
	if err != nil {
		x.Fatal(err)
	}
	for _, then := range x.before {
		name, began := map[string]string{}, map[string]bool{}
		for line := range strings.Lines(string(text[then.effects:])) {
			if f := strings.Fields(line); len(f) > 1 && f[0] == "begin" {
				began[f[1]] = true
			}
		}
		done := map[string][]string{} // keys of finished tasks, by name
		for line := range strings.Lines(string(text[:then.effects])) {
			switch f := strings.Fields(line); {
			case len(f) > 2 && f[0] == "begin":
				name[f[1]] = f[2]
			case len(f) > 1 && !slices.Contains(done[name[f[1]]], f[1]):
				done[name[f[1]]] = append(done[name[f[1]]], f[1])
			}
		}
		for name, keys := range done {
			again := 0
			for _, key := range keys {
				if began[key] {
					again++
				}
			}
			if again > len(keys)-then.ended[name] && !strings.HasSuffix(name, ",finally") {
				x.Errorf("%s: %d executions had ended, %d of %d began again", name, then.ended[name], again, len(keys))
			}
		}
	}
}

// showResult returns the run as `runs show` prints it, without the fields that may differ.
func (x *trial) showResult() map[string]any {
	p := x.callGraphrun("runs", "show", runID, "-o", "json")
	var out map[string]any
	if err := json.Unmarshal([]byte(p.output()), &out); err != nil || p.exitCode() != 0 {
		x.Errorf("%v: %s", err, p)
		return map[string]any{}
	}
	for _, key := range []string{"started_at", "duration_ms", "usage"} {
		if n, _ := out[key].(float64); n < 0 {
			x.Errorf("%s is %v", key, n)
		}
		delete(out, key)
	}
	return out
}

// comparableResult returns a result without people's answers and with sorted lists, since the order of
// waiting branches depends on timing.
func comparableResult(result map[string]any, f *flow) map[string]any {
	state, _ := result["state"].(map[string]any)
	for _, pair := range f.people {
		_, key, _ := strings.Cut(pair, "=")
		if _, has := state[key]; has {
			state[key] = "said"
		}
	}
	delete(result, "output")
	return sortLists(result).(map[string]any)
}

// sortLists sorts the lists in decoded JSON.
func sortLists(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			v[key] = sortLists(value)
		}
	case []any:
		for i := range v {
			v[i] = sortLists(v[i])
		}
		slices.SortFunc(v, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}
	return v
}

// checkEnd checks a completed run.
func (x *trial) checkEnd(want map[string]any) {
	got := x.showResult()
	if state, ok := got["state"].(map[string]any); ok {
		x.checkAnswers(state)
	}
	if diff := cmp.Diff(want, comparableResult(got, x.flow)); diff != "" {
		x.Errorf("the run ends otherwise (-undisturbed +disturbed):\n%s", diff)
	}
	if p := x.callGraphrun("replay", runID); p.exitCode() != 0 {
		x.Errorf("%s: %s", p, p.output())
	}
	x.checkEmittedEvents()
	x.checkEffects()
	x.checkStore()
	x.checkLeftovers()
}

// checkEmittedEvents checks that the journal holds every event that a driver emitted.
func (x *trial) checkEmittedEvents() {
	type ending struct {
		Event, Node, Branch string
		Visit, Attempt      int
	}
	read := func(p *process) map[ending]int {
		out := map[ending]int{}
		for line := range strings.Lines(p.output()) {
			var e ending
			if json.Unmarshal([]byte(line), &e) == nil && e.Event == "node_completed" && e.Node != x.flow.last {
				out[e]++
			}
		}
		return out
	}
	kept := read(x.callGraphrun("runs", "events", runID, "-o", "jsonl"))
	for _, p := range x.drives {
		for e, n := range read(p) {
			if kept[e] < n {
				x.Errorf("a driver told %d times of %+v, which is kept %d times", n, e, kept[e])
			}
		}
	}
}

// checkStore runs SQLite's integrity check.
func (x *trial) checkStore() {
	s, err := sqlite.Open(x.store, sqlite.Options{})
	if err == nil {
		err = errors.Join(s.CheckIntegrity(x.Context()), s.Close())
	}
	if err != nil {
		x.Error(err)
	}
}

// checkLeftovers checks that no process and no folder of the trial is left.
func (x *trial) checkLeftovers() {
	var left []string
	for range 100 {
		if left = x.listLeftProcesses(); len(left) == 0 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	for _, p := range left {
		x.Errorf("still there: %s", p)
	}
	for _, pattern := range []string{"tmp/*", "store/*.d/*.tasks"} {
		found, err := filepath.Glob(x.path(pattern))
		if err != nil || len(found) > 0 {
			x.Errorf("left: %v, %v", found, err)
		}
	}
}

// canMount reports whether the test can mount a small disk.
func canMount(dir string) bool {
	if os.Getuid() != 0 || syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k") != nil {
		return false
	}
	return syscall.Unmount(dir, 0) == nil
}
