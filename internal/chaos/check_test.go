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

// standing is how a run stood when a driver was gone.
type standing struct {
	// ended counts the executions that had ended well, by path, visit and element.
	ended map[string]int
	// effects is how long the log of effects was then.
	effects int
	events  int
}

// stand looks at the store; it is sound at any time.
func (x *trial) stand() {
	s, err := sqlite.Open(x.store, sqlite.Options{ReadOnly: true})
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, sqlite.ErrOlder) || errors.Is(err, sqlite.ErrUnfinished) || err != nil && !x.gently {
		return // nothing was kept yet, or a disk that is full has no room for those who look
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
		x.unlessFull(err)
		return
	}
	now := standing{ended: map[string]int{}, events: len(events)}
	x.follow(now.ended, events)
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

// begun reports whether there is a run.
func (x *trial) begun() bool {
	s, err := sqlite.Open(x.store, sqlite.Options{ReadOnly: true})
	if err != nil {
		return len(x.before) > 0
	}
	defer s.Close()
	_, err = s.Run(runID)
	return err == nil || !errors.Is(err, store.ErrNoRun)
}

func (x *trial) unlessFull(err error) {
	if x.gently {
		x.Error(err)
	}
}

// follow counts the executions that have ended well, those of subgraphs too.
func (x *trial) follow(ended map[string]int, events []machine.Event) {
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

// checkEffects makes sure that nothing was done by two at once, and that what had
// ended was not done again.
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
		done := map[string][]string{} // keys that had come to their end, by name
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

// result is a run as it is shown, without what may differ.
func (x *trial) result() map[string]any {
	p := x.call("runs", "show", runID, "-o", "json")
	var out map[string]any
	if err := json.Unmarshal([]byte(p.text()), &out); err != nil || p.code() != 0 {
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

// comparable is a result without what people said, and its lists sorted: in which
// superstep branches go on that wait is a matter of time.
func comparable(result map[string]any, f *flow) map[string]any {
	state, _ := result["state"].(map[string]any)
	for _, pair := range f.people {
		_, key, _ := strings.Cut(pair, "=")
		if _, has := state[key]; has {
			state[key] = "said"
		}
	}
	delete(result, "output")
	return sorted(result).(map[string]any)
}

// sorted is JSON with its lists sorted.
func sorted(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			v[key] = sorted(value)
		}
	case []any:
		for i := range v {
			v[i] = sorted(v[i])
		}
		slices.SortFunc(v, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}
	return v
}

// checkEnd looks at a run that has come to its end.
func (x *trial) checkEnd(want map[string]any) {
	got := x.result()
	if state, ok := got["state"].(map[string]any); ok {
		x.checkAnswers(state)
	}
	if diff := cmp.Diff(want, comparable(got, x.flow)); diff != "" {
		x.Errorf("the run ends otherwise (-undisturbed +disturbed):\n%s", diff)
	}
	if p := x.call("replay", runID); p.code() != 0 {
		x.Errorf("%s: %s", p, p.text())
	}
	x.checkTold()
	x.checkEffects()
	x.checkStore()
	x.checkLeft()
}

// checkTold makes sure that what drivers told of is in the journal.
func (x *trial) checkTold() {
	type ending struct {
		Event, Node, Branch string
		Visit, Attempt      int
	}
	read := func(p *process) map[ending]int {
		out := map[ending]int{}
		for line := range strings.Lines(p.text()) {
			var e ending
			if json.Unmarshal([]byte(line), &e) == nil && e.Event == "node_completed" && e.Node != x.flow.last {
				out[e]++
			}
		}
		return out
	}
	kept := read(x.call("runs", "events", runID, "-o", "jsonl"))
	for _, p := range x.drives {
		for e, n := range read(p) {
			if kept[e] < n {
				x.Errorf("a driver told %d times of %+v, which is kept %d times", n, e, kept[e])
			}
		}
	}
}

// checkStore lets SQLite look at all pages.
func (x *trial) checkStore() {
	s, err := sqlite.Open(x.store, sqlite.Options{})
	if err == nil {
		err = errors.Join(s.CheckIntegrity(x.Context()), s.Close())
	}
	if err != nil {
		x.Error(err)
	}
}

// checkLeft looks for processes and folders that should be gone.
func (x *trial) checkLeft() {
	var left []string
	for range 100 {
		if left = x.left(); len(left) == 0 {
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

// canMount says whether a small disk can be had here.
func canMount(dir string) bool {
	if os.Getuid() != 0 || syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k") != nil {
		return false
	}
	return syscall.Unmount(dir, 0) == nil
}
