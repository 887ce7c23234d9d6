package cli

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // to break off the making of a store
)

// A process was killed while it created the store: the next reader rolls the transaction back and
// finds no runs.
func TestReadingAStoreThatWasNeverMade(t *testing.T) {
	dir := t.TempDir()
	made, path := filepath.Join(dir, "made.db"), filepath.Join(dir, "runs.db")
	db, err := sql.Open("sqlite", "file:"+made+"?_pragma=journal_mode(DELETE)&_pragma=cache_size(1)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, text := range []string{"BEGIN", "CREATE TABLE t (x)", "INSERT INTO t VALUES (randomblob(100000))", "INSERT INTO t VALUES (randomblob(100000))"} {
		if _, err := db.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	for _, more := range []string{"", "-journal"} {
		text, err := os.ReadFile(made + more)
		if err != nil || len(text) == 0 {
			t.Fatalf("%d bytes, %v", len(text), err)
		}
		if err := os.WriteFile(path+more, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var stdout, stderr strings.Builder
	code := Main(context.Background(), Program{Args: []string{"runs", "list", "--store", path}, Stdout: &stdout, Stderr: &stderr})
	if code != exitOK || stderr.String() != "no runs\n" && stdout.String() != "no runs\n" {
		t.Errorf("exit code %d, %s%s", code, stdout.String(), stderr.String())
	}
}
