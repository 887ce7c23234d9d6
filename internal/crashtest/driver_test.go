// The test binary is also the driver that the tests kill: with CRASH_DIR set it starts or resumes
// a flow and prints the result.

package crashtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/graphrun/graphrun/internal/cli"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/store/sqlite"
	"github.com/graphrun/graphrun/spec"
)

const (
	dirEnv  = "CRASH_DIR"
	flowEnv = "CRASH_FLOW"
	// killEnv sets when the driver kills itself: "before 3" or "after 3" is before or after the
	// third write to its store.
	killEnv = "CRASH_KILL"
	// programEnv makes the test binary run as graphrun.
	programEnv = "CRASH_PROGRAM"
	// answerEnv is the answer for the flow of counterFlow.
	answerEnv = "CRASH_ANSWER"
)

func TestMain(m *testing.M) {
	if os.Getenv(programEnv) != "" {
		os.Exit(cli.Main(context.Background(), cli.System()))
	}
	dir := os.Getenv(dirEnv)
	if dir == "" {
		os.Exit(m.Run())
	}
	if pair := os.Getenv(offerEnv); pair != "" {
		if err := answerOnce(dir, pair); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	for _, f := range append(flows(), counterFlow(), pairsFlow(), questionsFlow()) {
		if f.name == os.Getenv(flowEnv) {
			if err := drive(dir, &f); err != nil {
				fmt.Println("error", err)
				os.Exit(1)
			}
		}
	}
	os.Exit(0)
}

// drive runs a flow to its end. It answers the questions of a paused run and resumes it.
func drive(dir string, f *flow) error {
	kept, err := sqlite.Open(filepath.Join(dir, "runs.db"), sqlite.Options{})
	if err != nil {
		return err
	}
	r, err := runner.New(runner.Config{Store: newFatalStore(kept, os.Getenv(killEnv)), Kinds: []runner.Kind{effectKind(dir)}})
	if err != nil {
		return err
	}
	result, err := startOrResume(r, kept, dir, f)
	for err == nil && result.Status == machine.Paused && len(f.answers) > 0 {
		result, err = r.Resume(context.Background(), "one", runner.Options{Answers: nextAnswer(f, result)})
	}
	if err != nil {
		return err
	}
	text, err := json.Marshal(result)
	fmt.Println("result", string(text))
	return errors.Join(err, kept.Close())
}

// startOrResume resumes the run, or starts it if the store does not hold it.
func startOrResume(r *runner.Runner, kept *sqlite.Store, dir string, f *flow) (*runner.Result, error) {
	_, err := kept.Run("one")
	switch {
	case errors.Is(err, store.ErrNoRun):
	case err != nil:
		return nil, err
	default:
		opts := runner.Options{}
		if answer := os.Getenv(answerEnv); answer != "" {
			opts.Answers = map[string][]string{"ask": {answer}}
		}
		return r.Resume(context.Background(), "one", opts)
	}
	g, found := spec.Parse(filepath.Join(dir, f.name+".yaml"), []byte(f.text), spec.Options{Kinds: r.Kinds()})
	if found = append(found, spec.Check(g)...); found.HasErrors() {
		return nil, errors.New(found[0].Message)
	}
	return r.Run(context.Background(), g, runner.Options{RunID: "one"})
}

// nextAnswer returns the answer to the last of the open questions.
func nextAnswer(f *flow, result *runner.Result) map[string][]string {
	last := result.Pending[len(result.Pending)-1].Node
	visit := 0
	for _, id := range result.Path {
		if id == "b" {
			visit++
		}
	}
	return map[string][]string{last: {f.answers[last][visit]}}
}

// effectKind returns a node kind that writes a line to a file at each execution. `fails` sets how
// many attempts fail.
func effectKind(dir string) runner.Kind {
	return runner.Kind{
		Spec: spec.Kind{Name: "effect", Keys: []spec.Key{
			{Name: "size", Type: spec.TypeInt, Doc: "How many bytes it returns."},
			{Name: "takes", Type: spec.TypeInt, Doc: "How long it takes, in milliseconds; 0: one."},
			{Name: "fails", Type: spec.TypeInt, Doc: "How many attempts fail."},
		}},
		Handler: runner.HandlerFunc(func(_ context.Context, task *runner.Task) (any, error) {
			line := fmt.Sprintf("%s %s %d %d %d\n", task.Key, task.Node, task.Visit, task.Attempt, task.Index)
			file, err := os.OpenFile(filepath.Join(dir, "effects"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
			if err != nil {
				return nil, err
			}
			if _, err := file.WriteString(line); err != nil {
				return nil, err
			}
			if err := file.Close(); err != nil {
				return nil, err
			}
			takes, _ := task.Config["takes"].(int)
			time.Sleep(time.Duration(max(1, takes)) * time.Millisecond) // long enough that kills interrupt it
			if fails, _ := task.Config["fails"].(int); task.Attempt <= fails {
				return nil, &runner.Failure{Kind: "network", Message: "fails on purpose"}
			}
			size, _ := task.Config["size"].(int)
			return map[string]any{"key": task.Key, "text": strings.Repeat(task.Key[:1], size)}, nil
		}),
	}
}

// fatalStore is a store that kills the process at a given write, and prints how many events were
// acknowledged.
type fatalStore struct {
	store.Store
	after  bool
	at     int
	writes int
	events int
}

func newFatalStore(s store.Store, kill string) *fatalStore {
	when, n, _ := strings.Cut(kill, " ")
	at, _ := strconv.Atoi(n)
	return &fatalStore{Store: s, after: when == "after", at: at}
}

// write calls do, or kills the process before or after it.
func (f *fatalStore) write(do func() error) error {
	f.writes++
	if f.writes != f.at {
		return do()
	}
	if f.after {
		_ = do()
	}
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {}
}

func (f *fatalStore) acknowledge(n int, err error) error {
	if err == nil {
		f.events += n
		fmt.Println("kept", f.events)
	}
	return err
}

func (f *fatalStore) Create(record store.RunRecord, first ...machine.Event) (j store.Journal, err error) {
	err = f.write(func() (err error) {
		j, err = f.Store.Create(record, first...)
		return err
	})
	if err := f.acknowledge(len(first), err); err != nil {
		return nil, err
	}
	return &fatalJournal{j, f}, err
}

func (f *fatalStore) Open(id, owner string) (j store.Journal, err error) {
	err = f.write(func() (err error) {
		j, err = f.Store.Open(id, owner)
		return err
	})
	if err != nil {
		return nil, err
	}
	events, err := f.Events(id, 0, math.MaxInt)
	f.events = len(events)
	return &fatalJournal{j, f}, err
}

type fatalJournal struct {
	store.Journal
	store *fatalStore
}

func (j *fatalJournal) Append(events ...machine.Event) error {
	err := j.store.acknowledge(len(events), j.store.write(func() error { return j.Journal.Append(events...) }))
	if err == nil && len(events) == 1 && events[0].Kind == machine.Answered {
		fmt.Println("answered")
	}
	return err
}

func (j *fatalJournal) Snapshot(s store.Snapshot) error {
	fmt.Println("snapshot")
	return j.store.write(func() error { return j.Journal.Snapshot(s) })
}

func (j *fatalJournal) SaveSummary(s store.RunSummary) error {
	return j.store.write(func() error { return j.Journal.SaveSummary(s) })
}

func (j *fatalJournal) Close() error { return j.store.write(j.Journal.Close) }
