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

// A run whose write-ahead log lost its end, as in a power failure, resumes from the rest and has
// the same result.
func TestTruncatedLogs(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	for _, f := range flows() {
		want := runUndisturbed(t, &f)
		for range 1 + killCount(t)/40 {
			dir := newDir(t)
			// Tasks that end together share a write, so there may be fewer writes than undisturbed.
			p := startDriver(t, dir, f.name, fmt.Sprintf("after %d", 2+random.IntN(want.writes/2)))
			p.awaitExit()
			log := filepath.Join(dir, "runs.db-wal")
			info, err := os.Stat(log)
			if err != nil || p.err != "" || p.result != "" {
				t.Fatal(err, p.err, p.result)
			}
			if err := os.Truncate(log, random.Int64N(info.Size())); err != nil {
				t.Fatal(err)
			}
			checkStore(t, dir, 0)
			p = startDriver(t, dir, f.name, "")
			p.awaitExit()
			if diff := cmp.Diff(want.result, checkCompleted(t, p)); diff != "" {
				t.Errorf("seed %d: with a cut log %s ends otherwise (-whole +cut):\n%s", seed, f.name, diff)
			}
		}
	}
}
