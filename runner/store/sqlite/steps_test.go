package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/store/sqlite"
	"github.com/graphrun/graphrun/spec"
)

// What a step of a run costs: the runner, the machine and the store together. The steps
// have an effect, and write a hundred bytes beside a state of some size.

// stepsFlow runs a node as often as its input says.
const stepsFlow = `
graphrun: v1
name: steps
start: a
limits: {max_steps: 100000000}
state: {pad: {type: string}, n: {type: integer}, said: {type: string}}
nodes: {a: {kind: say, writes: {n: n - 1, said: output}}}
edges: [{from: a, to: a, when: n > 0}, {from: a, to: END}]
`

// stepper runs stepsFlow.
func stepper(tb testing.TB, s store.Store) func(id string, steps, size int) {
	tb.Helper()
	run, err := newStepper(s)
	if err != nil {
		tb.Fatal(err)
	}
	return func(id string, steps, size int) {
		tb.Helper()
		if err := run(id, steps, size); err != nil {
			tb.Fatal(err)
		}
	}
}

func newStepper(s store.Store) (func(id string, steps, size int) error, error) {
	said := strings.Repeat("x", 100)
	r, err := runner.New(runner.Config{Store: s, Kinds: []runner.Kind{{
		Spec:    spec.Kind{Name: "say"},
		Handler: runner.HandlerFunc(func(context.Context, *runner.Task) (any, error) { return said, nil }),
	}}})
	if err != nil {
		return nil, err
	}
	g, found := spec.Parse("steps.yaml", []byte(stepsFlow), spec.Options{Kinds: r.Kinds()})
	if found.HasErrors() {
		return nil, errors.New(found[0].Message)
	}
	f, err := r.Prepare(g)
	return func(id string, steps, size int) error {
		got, err := f.Run(context.Background(), runner.Options{
			RunID: id, Input: map[string]any{"n": steps, "pad": strings.Repeat("p", size)},
		})
		if err == nil && (got.Status != machine.Completed || got.Steps != steps) {
			err = fmt.Errorf("%s after %d steps", got.Status, got.Steps)
		}
		return err
	}, err
}

// weighed is a store that counts what a run commits, and what it writes between
// its events, snapshots apart.
type weighed struct {
	*sqlite.Store
	commits, snapshots int
	from, to           int // written when the first and the last step were kept
	apart              int // bytes written for snapshots in between
}

func (w *weighed) Create(record store.RunRecord, first ...machine.Event) (store.Journal, error) {
	j, err := w.Store.Create(record, first...)
	w.commits++
	return &weighedJournal{j, w}, err
}

type weighedJournal struct {
	store.Journal
	store *weighed
}

func (j *weighedJournal) Append(events ...machine.Event) error {
	err := j.Journal.Append(events...)
	w := j.store
	w.commits++
	w.to, _ = written()
	if w.from == 0 {
		w.from = w.to
	}
	return err
}

func (j *weighedJournal) Snapshot(s store.Snapshot) error {
	before, _ := written()
	err := j.Journal.Snapshot(s)
	after, _ := written()
	j.store.apart += after - before
	j.store.snapshots++
	return err
}

// A step writes as much with a large state as with a small one, in one commit.
func TestStepsDoNotWriteTheState(t *testing.T) {
	if _, ok := written(); !ok {
		t.Skip("the system does not count written bytes")
	}
	const steps = 2000
	var each []int
	for _, size := range []int{1 << 10, 100 << 10, 10 << 20} {
		w := &weighed{Store: open(t, filepath.Join(t.TempDir(), "runs.db"), sqlite.Options{Durability: sqlite.Off})}
		stepper(t, w)("one", steps, size)
		each = append(each, (w.to-w.from-w.apart)/(steps-1))
		if w.commits > steps+3 || w.snapshots > 16 {
			t.Errorf("beside %d bytes, %d steps take %d commits and %d snapshots", size, steps, w.commits, w.snapshots)
		}
	}
	t.Logf("bytes written a step beside 1 KB, 100 KB, 10 MB: %v", each)
	if least, most := slices.Min(each), slices.Max(each); float64(most) > 1.2*float64(least) || most > 5600 {
		t.Errorf("bytes written a step: %v; at most 5600, and at most 1.2 times the least", each)
	}
}

// BenchmarkSteps compares runs of steps with an effect with as many bare commits of the store,
// and with as many rows of a bare database, alternately: the medians of the rates' ratios.
func BenchmarkSteps(b *testing.B) {
	for _, durability := range []sqlite.Durability{sqlite.Full, sqlite.Normal} {
		for _, size := range []int{1 << 10, 100 << 10} {
			b.Run(fmt.Sprintf("%s/%dKB", durability, size>>10), func(b *testing.B) { benchmarkSteps(b, durability, size) })
		}
	}
}

func benchmarkSteps(b *testing.B, durability sqlite.Durability, size int) {
	const steps = 1000
	rows := newBare(b, durability)
	s := open(b, filepath.Join(b.TempDir(), "runs.db"), sqlite.Options{Durability: durability})
	run := stepper(b, s)
	journal := create(b, s, "bare")
	task := machine.TaskID{Task: 7, Attempt: 1}
	ended := machine.Event{Kind: machine.TaskEnded, At: time.Now().UnixNano(), Task: task, Output: strings.Repeat("x", 100), Emitted: 7}
	began := machine.Event{Kind: machine.TaskBegan, At: time.Now().UnixNano(), Task: task, Node: "a", Visit: 7}
	row := fmt.Sprintf(`{"kind":"task_ended","at":%d,"step":%d}`, time.Now().UnixNano(), steps)
	took := func(do func()) float64 {
		began := time.Now()
		do()
		return float64(time.Since(began))
	}
	var perCommit, perRow, each []float64
	for round := 0; b.Loop(); round++ {
		bare := took(func() {
			for range steps {
				rows.add(b, row)
			}
		})
		commits := took(func() {
			for range steps {
				if err := journal.Append(ended, began); err != nil {
					b.Fatal(err)
				}
			}
		})
		all := took(func() { run(fmt.Sprint(round), steps, size) })
		perCommit, perRow, each = append(perCommit, commits/all), append(perRow, bare/all), append(each, all/steps/1000)
	}
	for name, list := range map[string][]float64{"rate/commits": perCommit, "rate/rows": perRow, "µs/step": each} {
		slices.Sort(list)
		b.ReportMetric(list[len(list)/2], name)
	}
}

// BenchmarkLoop runs a loop of 100,000 pure steps, stored and not.
func BenchmarkLoop(b *testing.B) {
	const steps = 100_000
	g, found := spec.Parse("loop.yaml", fmt.Appendf(nil, `
graphrun: v1
name: loop
start: a
limits: {max_steps: %d}
state: {n: {type: integer, default: 0}}
nodes: {a: {kind: set, set: {n: n + 1}}}
edges: [{from: a, to: a, when: n < %d}, {from: a, to: END}]
`, steps+1, steps), spec.Options{})
	if found.HasErrors() {
		b.Fatal(found[0].Message)
	}
	s := open(b, filepath.Join(b.TempDir(), "runs.db"), sqlite.Options{})
	for name, kept := range map[string]store.Store{"stored": s, "memory": nil} {
		b.Run(name, func(b *testing.B) {
			r, err := runner.New(runner.Config{Store: kept})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if got, err := r.Run(context.Background(), g, runner.Options{}); err != nil || got.Steps != steps {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkOpenRun shows the status of a run after some steps. Its time depends on the state, the
// events since the snapshot, and the path, which is printed.
func BenchmarkOpenRun(b *testing.B) {
	for _, steps := range []int{1000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(steps), func(b *testing.B) {
			s := open(b, filepath.Join(b.TempDir(), "runs.db"), sqlite.Options{Durability: sqlite.Off})
			stepper(b, s)("one", steps, 1<<10)
			r, err := runner.New(runner.Config{Store: s})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if got, err := r.Show("one", runner.Options{}); err != nil || len(got.Path) != steps {
					b.Fatal(err)
				}
			}
		})
	}
}
