package sqlite_test

import (
	"database/sql"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/store/sqlite"
)

// What a step costs, beside what the same SQLite takes to commit one row of the
// same size with the same settings. The two take turns, because what a disk
// does changes from second to second: what counts is the median of the ratios.

// bare is a table of rows and nothing else.
type bare struct {
	db     *sql.DB
	insert *sql.Stmt
	rows   int
}

func newBare(tb testing.TB, durability sqlite.Durability) *bare {
	tb.Helper()
	db := sqlite.OpenBare(filepath.Join(tb.TempDir(), "bare.db"), durability)
	tb.Cleanup(func() { _ = db.Close() })
	if _, err := db.Exec(`CREATE TABLE rows (id INTEGER PRIMARY KEY, data TEXT NOT NULL)`); err != nil {
		tb.Fatal(err)
	}
	insert, err := db.Prepare(`INSERT INTO rows (id, data) VALUES (?, ?)`)
	if err != nil {
		tb.Fatal(err)
	}
	return &bare{db: db, insert: insert}
}

func (b *bare) add(tb testing.TB, text string) {
	b.rows++
	if _, err := b.insert.Exec(b.rows, text); err != nil {
		tb.Fatal(err)
	}
}

// delta returns an event with a text of a size.
func delta(at, size int) (machine.Event, string) {
	e := machine.Event{Kind: machine.TaskEnded, At: int64(at), Output: string(slices.Repeat([]byte{'x'}, size))}
	return e, fmt.Sprintf(`{"kind":"task_ended","at":%d,"task":{"node":"","visit":0,"attempt":0},"output":%q}`, at, e.Output)
}

func BenchmarkAppend(b *testing.B) {
	for _, durability := range []sqlite.Durability{sqlite.Full, sqlite.Normal} {
		for _, size := range []int{20, 1000} {
			b.Run(fmt.Sprintf("%s/%d", durability, size), func(b *testing.B) { benchmarkAppend(b, durability, size) })
		}
	}
}

func benchmarkAppend(b *testing.B, durability sqlite.Durability, size int) {
	const chunk = 200
	rows := newBare(b, durability)
	journal := create(b, open(b, filepath.Join(b.TempDir(), "runs.db"), sqlite.Options{Durability: durability}), "bench")
	var ratios []float64
	for round := 0; b.Loop(); round++ {
		began := time.Now()
		for i := range chunk {
			_, text := delta(round*chunk+i, size)
			rows.add(b, text)
		}
		middle := time.Now()
		for i := range chunk {
			e, _ := delta(round*chunk+i, size)
			if err := journal.Append(e); err != nil {
				b.Fatal(err)
			}
		}
		ratios = append(ratios, float64(middle.Sub(began))/float64(time.Since(middle)))
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "rate/bare")
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(2*chunk*len(ratios)), "µs/commit")
}

// BenchmarkList opens a file with 10,000 runs and lists them.
func BenchmarkList(b *testing.B) {
	path := filepath.Join(b.TempDir(), "runs.db")
	s := open(b, path, sqlite.Options{Durability: sqlite.Off})
	for i := range 10000 {
		journal, err := s.Create(store.RunRecord{
			ID: fmt.Sprintf("20260101-000000-%08x", i), Graph: "support-triage", File: "flows/support-triage.yaml",
			Source: []byte("graphrun: v1"), Labels: map[string]string{"env": "prod", "n": fmt.Sprint(i % 100)}, Started: time.Unix(int64(i), 0),
		})
		if err != nil {
			b.Fatal(err)
		}
		e, _ := delta(i, 500)
		if err := journal.Append(e, e, e); err != nil {
			b.Fatal(err)
		}
		if err := journal.Close(); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	for name, filter := range map[string]store.RunFilter{
		"all": {}, "20": {Limit: 20}, "label": {Labels: map[string]string{"n": "7"}}, "graph": {Graph: "support-triage", Limit: 20},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s, err := sqlite.Open(path, sqlite.Options{})
				if err != nil {
					b.Fatal(err)
				}
				if list, err := s.List(filter); err != nil || len(list) == 0 {
					b.Fatal(len(list), err)
				}
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkEvents reads a long journal.
func BenchmarkEvents(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "runs.db"), sqlite.Options{Durability: sqlite.Off})
	journal := create(b, s, "long")
	const n = 100000
	batch := make([]machine.Event, n)
	for i := range batch {
		batch[i] = machine.Event{Kind: machine.Advanced, At: int64(i)}
	}
	if err := journal.Append(batch...); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if list, err := s.Events("long", 0, math.MaxInt); err != nil || len(list) != n {
			b.Fatal(len(list), err)
		}
	}
}

func create(tb testing.TB, s *sqlite.Store, id string, first ...machine.Event) store.Journal {
	tb.Helper()
	journal, err := s.Create(store.RunRecord{ID: id, Graph: "g", File: "g.yaml", Source: []byte("graphrun: v1")}, first...)
	if err != nil {
		tb.Fatal(err)
	}
	return journal
}

// written counts the bytes that this process has given to write calls; ok is
// false where the system does not tell.
func written() (bytes int, ok bool) {
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0, false
	}
	var read int
	n, _ := fmt.Sscanf(string(text), "rchar: %d\nwchar: %d", &read, &bytes)
	return bytes, n == 2
}

// A step writes as much as the commit of its row, however long the run is.
func TestBytesPerStep(t *testing.T) {
	if _, ok := written(); !ok {
		t.Skip("the system does not count written bytes")
	}
	journal := create(t, open(t, filepath.Join(t.TempDir(), "runs.db"), sqlite.Options{Durability: sqlite.Off}), "one")
	const steps = 1000
	before, _ := written()
	for i := range steps {
		e, _ := delta(i, 150)
		if err := journal.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	after, _ := written()
	if each := (after - before) / steps; each > 5500 || each < 4096 {
		t.Errorf("%d bytes are written a step; at most 5500, at least a page", each)
	}
}
