package sqlite_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// countKills returns how often to kill the driver. GRAPHRUN_KILLS overrides the default.
func countKills(t *testing.T) int {
	if n, err := strconv.Atoi(os.Getenv("GRAPHRUN_KILLS")); err == nil {
		return n
	}
	if testing.Short() {
		return 5
	}
	return 30 / slowdown
}

// Every acknowledged event is in its place after the driver was killed, and the next driver
// continues at once.
func TestKill(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	kept, grew := 0, 0
	for round := range countKills(t) {
		d := startDriver(t, path, 0)
		d.kept = kept
		if round%5 == 4 { // somewhere between its start and its first events
			timer := time.AfterFunc(time.Duration(random.IntN(40))*time.Millisecond, func() { _ = d.cmd.Process.Kill() })
			d.finish()
			timer.Stop()
		} else {
			for range 1 + random.IntN(40) {
				if !d.readLine() {
					break
				}
			}
			_ = d.cmd.Process.Kill()
			d.finish()
		}
		if d.err != "" {
			t.Fatalf("seed %d, round %d: %s", seed, round, d.err)
		}
		before := kept
		kept = checkStore(t, path, d.kept)
		if kept > before {
			grew++
		}
		if t.Failed() {
			t.Fatalf("seed %d, round %d", seed, round)
		}
	}
	if grew == 0 {
		t.Error("no driver got to append anything")
	}
}
