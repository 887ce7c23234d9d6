package crashtest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The end of the write-ahead log is lost, as when the power fails: the run goes
// on from what is left, and comes to the same end.
func TestCutLogs(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	for _, f := range flows() {
		want := whole(t, &f)
		for range 1 + kills(t)/40 {
			dir := newDir(t)
			// Tasks that end together share a write: as many as undisturbed may not come.
			p := start(t, dir, f.name, fmt.Sprintf("after %d", 2+random.IntN(want.writes/2)))
			p.finish()
			log := filepath.Join(dir, "runs.db-wal")
			info, err := os.Stat(log)
			if err != nil || p.err != "" || p.result != "" {
				t.Fatal(err, p.err, p.result)
			}
			if err := os.Truncate(log, random.Int64N(info.Size())); err != nil {
				t.Fatal(err)
			}
			left(t, dir, 0)
			p = start(t, dir, f.name, "")
			p.finish()
			if diff := cmp.Diff(want.result, outcome(t, p)); diff != "" {
				t.Errorf("seed %d: with a cut log %s ends otherwise (-whole +cut):\n%s", seed, f.name, diff)
			}
		}
	}
}
