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

// A client counts through a person's answers, each with its number. A driver
// may be killed before or after the answer is acknowledged: the client then asks
// again. What has been counted is what was acknowledged.
func TestAcknowledgedAnswersCount(t *testing.T) {
	f := counter()
	dir := newDir(t)
	p := start(t, dir, f.name, "")
	p.finish()
	began := time.Now()
	start(t, dir, f.name, "").finish()
	took := time.Since(began)
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	acknowledged, died := 0, 0
	for died < kills(t)/2 || acknowledged < 3 {
		p := start(t, dir, f.name, []string{"", "after 3", "before 3", "before 4"}[random.IntN(4)], answerEnv+"="+strconv.Itoa(acknowledged+1))
		timer := time.AfterFunc(time.Duration(random.Int64N(int64(2*took))), func() { _ = p.cmd.Process.Kill() })
		p.finish()
		timer.Stop()
		if p.err != "" {
			t.Fatalf("seed %d: %s", seed, p.err)
		}
		if p.answered {
			acknowledged++
		}
		left(t, dir, p.kept)
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
	p = start(t, dir, f.name, "", answerEnv+"="+strconv.Itoa(acknowledged))
	p.finish()
	if n := stateOf(t, dir).State["n"]; n != acknowledged {
		t.Errorf("seed %d: %d answers were acknowledged, %v are counted, %d kills: %s", seed, acknowledged, n, died, p.err)
	}
}

// stateOf is how the run stands.
func stateOf(t *testing.T, dir string) *runner.Result {
	t.Helper()
	result, err := look(dir)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// Whoever looks at a run while another process drives it sees whole steps,
// and both go on: the driver comes to its end, and the looks are many.
func TestLooksDuringARun(t *testing.T) {
	f := pairs()
	dir := newDir(t)
	p := start(t, dir, f.name, "")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.finish()
	}()
	looks, during, steps := 0, 0, 0
	for done := false; !done; looks++ {
		select {
		case <-ended:
			done = true
		default:
		}
		result, err := look(dir)
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
	if out := outcome(t, p); out["state"].(map[string]any)["x"] != 400.0 {
		t.Error(out["state"])
	}
	if last := stateOf(t, dir); last.Status != machine.Completed || during < 3 {
		t.Errorf("%s after %d looks, %d while it ran", last.Status, looks, during)
	}
}

// look reads the run in a store that is only read.
func look(dir string) (*runner.Result, error) {
	s, err := sqlite.Open(filepath.Join(dir, "runs.db"), sqlite.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	r, err := runner.New(runner.Config{Store: s, Kinds: []runner.Kind{effect(dir)}})
	if err != nil {
		return nil, err
	}
	return r.Show("one", runner.Options{})
}
