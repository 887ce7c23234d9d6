package crashtest

import (
	"encoding/json"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store/sqlite"
)

// A client sends numbered answers to a flow that counts them. If the driver is killed before or
// after it acknowledges an answer, the client repeats it. The flow counts each acknowledged answer once.
func TestAcknowledgedAnswersCount(t *testing.T) {
	f := counterFlow()
	dir := newDir(t)
	p := startDriver(t, dir, f.name, "")
	p.awaitExit()
	began := time.Now()
	startDriver(t, dir, f.name, "").awaitExit()
	took := time.Since(began)
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	acknowledged, died := 0, 0
	for died < killCount(t)/2 || acknowledged < 3 {
		p := startDriver(t, dir, f.name, []string{"", "after 3", "before 3", "before 4"}[random.IntN(4)], answerEnv+"="+strconv.Itoa(acknowledged+1))
		timer := time.AfterFunc(time.Duration(random.Int64N(int64(2*took))), func() { _ = p.cmd.Process.Kill() })
		p.awaitExit()
		timer.Stop()
		if p.err != "" {
			t.Fatalf("seed %d: %s", seed, p.err)
		}
		if p.answered {
			acknowledged++
		}
		checkStore(t, dir, p.kept)
		if p.result == "" {
			died++
			continue
		}
		var now struct {
			State struct{ N int }
		}
		if err := json.Unmarshal([]byte(p.result), &now); err != nil || now.State.N != acknowledged {
			t.Fatalf("seed %d: %d answers were acknowledged, %d are counted (%v)", seed, acknowledged, now.State.N, err)
		}
	}
	p = startDriver(t, dir, f.name, "", answerEnv+"="+strconv.Itoa(acknowledged))
	p.awaitExit()
	if n := mustReadRun(t, dir).State["n"]; n != acknowledged {
		t.Errorf("seed %d: %d answers were acknowledged, %v are counted, %d kills: %s", seed, acknowledged, n, died, p.err)
	}
}

// mustReadRun is like readRun, but ends the test on an error.
func mustReadRun(t *testing.T, dir string) *runner.Result {
	t.Helper()
	result, err := readRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// A reader of a run that another process drives sees only complete supersteps. Neither blocks the
// other: the run completes, and many reads succeed meanwhile.
func TestReadWhileDriven(t *testing.T) {
	f := pairsFlow()
	dir := newDir(t)
	p := startDriver(t, dir, f.name, "")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.awaitExit()
	}()
	looks, during, steps := 0, 0, 0
	for done := false; !done; looks++ {
		select {
		case <-ended:
			done = true
		default:
		}
		result, err := readRun(dir)
		if err != nil {
			if looks == 0 || during == 0 {
				continue // the run has not begun
			}
			t.Fatal(err)
		}
		if result.State["x"] != result.State["y"] {
			t.Fatalf("a look shows %v and %v of branches that have met", result.State["x"], result.State["y"])
		}
		if result.Steps < steps {
			t.Fatalf("%d steps were taken, and %d before", result.Steps, steps)
		}
		steps = result.Steps
		if result.Status == machine.Running {
			during++
		}
	}
	if out := checkCompleted(t, p); out["state"].(map[string]any)["x"] != 400.0 {
		t.Error(out["state"])
	}
	if last := mustReadRun(t, dir); last.Status != machine.Completed || during < 3 {
		t.Errorf("%s after %d looks, %d while it ran", last.Status, looks, during)
	}
}

// readRun reads the run through a read-only store.
func readRun(dir string) (*runner.Result, error) {
	s, err := sqlite.Open(filepath.Join(dir, "runs.db"), sqlite.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	r, err := runner.New(runner.Config{Store: s, Kinds: []runner.Kind{effectKind(dir)}})
	if err != nil {
		return nil, err
	}
	return r.Show("one", runner.Options{})
}
