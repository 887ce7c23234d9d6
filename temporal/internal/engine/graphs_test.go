package engine_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/temporal/internal/engine"
)

// randomGraph is a line that TestCorpus of internal/referencetest writes.
type randomGraph struct {
	Seed   uint64   `json:"seed"`
	Flow   string   `json:"flow"`
	Status string   `json:"status"`
	Path   []string `json:"path"`
}

// graphsOf reads the random graphs of GRAPHRUN_TEST_GRAPHS, which .ci/temporal writes.
func graphsOf(t *testing.T) (all []randomGraph) {
	t.Helper()
	name := os.Getenv("GRAPHRUN_TEST_GRAPHS")
	if name == "" {
		t.Skip("GRAPHRUN_TEST_GRAPHS does not name a file of random graphs; .ci/temporal writes one")
	}
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var g randomGraph
		if err := json.Unmarshal(lines.Bytes(), &g); err != nil {
			t.Fatal(err)
		}
		all = append(all, g)
	}
	if err := lines.Err(); err != nil || len(all) == 0 {
		t.Fatal(len(all), err)
	}
	return all
}

// TestRandomGraphs: graphs whose result does not depend on the order in which tasks end have the
// same result with both engines and with the core. Their histories can be replayed.
func TestRandomGraphs(t *testing.T) {
	all := graphsOf(t)
	o := engine.Options{Address: serverOf(t), Payloads: t.TempDir()}
	startWorker(t, o, engine.WorkerOptions{})
	c, err := o.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	dir := t.TempDir()
	var group sync.WaitGroup
	var refused atomic.Int64
	work := make(chan randomGraph)
	for range 8 {
		group.Go(func() {
			for g := range work {
				if !compare(t, &o, c, dir, &g) {
					refused.Add(1)
				}
			}
		})
	}
	for _, g := range all {
		work <- g
	}
	close(work)
	group.Wait()
	t.Logf("%d graphs, of which %d are refused", len(all), refused.Load())
	if refused.Load() > int64(len(all)/4) {
		t.Error("too many graphs are refused")
	}
}

// compare runs a graph with both engines. It returns false if they refuse the graph before they
// run it.
func compare(t *testing.T, o *engine.Options, c *engine.Cluster, dir string, g *randomGraph) (ran bool) {
	id := fmt.Sprintf("graph%d", g.Seed)
	file := filepath.Join(dir, id+".yaml")
	if err := os.WriteFile(file, []byte(g.Flow), 0o600); err != nil {
		t.Error(err)
		return true
	}
	run := func(o *engine.Options, args ...string) (out outcome) {
		stdout, stderr, code := command(o, append([]string{"run", file, "--run-id", id, "-o", "json"}, args...)...)
		if err := json.Unmarshal([]byte(stdout), &out); err != nil && code != 3 {
			t.Errorf("graph %d: %v\n%s\n%s", g.Seed, err, stdout, stderr)
		}
		out.Code = code
		if of, ok := out.Error.(map[string]any); ok { // which of several elements failed first
			delete(of, "message")
			delete(of, "attempt")
		}
		return out
	}
	here, there := run(nil, "--store", filepath.Join(dir, id+".db")), run(o)
	if diff := cmp.Diff(here, there); diff != "" {
		t.Errorf("graph %d on this machine (-), on the cluster (+):\n%s\n%s", g.Seed, diff, g.Flow)
	}
	if there.Code == 3 {
		return false
	}
	if err := c.ReplayRun(t.Context(), id); err != nil {
		t.Errorf("graph %d does not replay: %v\n%s", g.Seed, err, g.Flow)
	}
	if there.Status != g.Status || cmp.Diff(g.Path, there.Path) != "" {
		t.Errorf("graph %d is %s on %v, the core has it %s on %v\n%s", g.Seed, there.Status, there.Path, g.Status, g.Path, g.Flow)
	}
	return true
}
