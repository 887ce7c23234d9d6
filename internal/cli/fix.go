// validate --fix: mends what can be mended without changing what a graph does.

package cli

import (
	"bytes"
	"fmt"
	"os"

	"github.com/graphrun/graphrun/internal/fix"
)

// fixAll mends the sources in place and says on stderr what was done. Sources
// that were mended are read again by the check that follows.
func (a *app) fixAll(sources []source) error {
	problems, files := 0, 0
	for i := range sources {
		if sources[i].name == stdinName {
			return usagef("--fix changes files; it can't change stdin")
		}
		n, err := fixFile(&sources[i])
		if err != nil {
			return err
		}
		if n > 0 {
			problems += n
			files++
		}
	}
	fmt.Fprintf(a.Stderr, "fixed %s in %s\n", counted(problems, "problem"), counted(files, "file"))
	return nil
}

// fixFile mends one file, again and again while there is something to mend.
func fixFile(s *source) (fixed int, err error) {
	src := s.src
	if src == nil {
		if src, err = os.ReadFile(s.name); err != nil {
			return 0, usage(err)
		}
	}
	original := src
	const rounds = 10
	for range rounds {
		before := check(s.name, src, false)
		edits := fix.Edits(before.graph, before.found)
		if len(edits) == 0 {
			break
		}
		next := fix.Apply(src, edits)
		if len(check(s.name, next, false).found) > len(before.found)-len(edits) {
			break // a change that brings findings of its own is none to make unasked
		}
		src = next
		fixed += len(edits)
	}
	if bytes.Equal(src, original) {
		return 0, nil
	}
	s.src = src
	return fixed, replaceFile(s.name, src)
}

// replaceFile writes a file that exists, keeping its permissions.
func replaceFile(name string, src []byte) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	return os.WriteFile(name, src, info.Mode().Perm())
}

// counted is a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
