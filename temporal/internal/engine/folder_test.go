package engine

import (
	"os"
	"strings"
	"testing"
	"time"
)

// TestFolderRenews: storing a value again makes it new, since a rule may delete old values.
func TestFolderRenews(t *testing.T) {
	f := folder(t.TempDir())
	digest, err := storeBlob(f, []byte(strings.Repeat("x", 100)))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		age time.Duration
		new bool
	}{{time.Hour, false}, {48 * time.Hour, true}} {
		was := time.Now().Add(-test.age)
		if err := os.Chtimes(f.path(digest[:2]+"/"+digest), was, was); err != nil {
			t.Fatal(err)
		}
		if _, err := storeBlob(f, []byte(strings.Repeat("x", 100))); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(f.path(digest[:2] + "/" + digest))
		if err != nil {
			t.Fatal(err)
		}
		if renewed := time.Since(info.ModTime()) < test.age/2; renewed != test.new {
			t.Errorf("%s old: counts as new: %v, want %v", test.age, renewed, test.new)
		}
	}
}
