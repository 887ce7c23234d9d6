// validate --fix: mends what can be mended without changing what a graph does.

package cli

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/graphrun/graphrun/flowtest"
	"github.com/graphrun/graphrun/internal/bounded"
	"github.com/graphrun/graphrun/internal/fix"
	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/spec"
)

// fixAll mends the sources in place and says on stderr what was done. Sources
// that were mended are read again by the check that follows.
func (a *app) fixAll(sources []source) error {
	problems, files := 0, 0
	for i := range sources {
		s := &sources[i]
		_, after, n, err := mended(s)
		if err == nil && n > 0 {
			s.src = after
			err = replaceFile(s.name, after)
			files++
		}
		if err != nil {
			return err
		}
		problems += n
	}
	fmt.Fprintf(a.Stderr, "fixed %s in %s\n", counted(problems, "problem"), counted(files, "file"))
	return nil
}

// showFixes prints what fixAll would change.
func (a *app) showFixes(sources []source) error {
	problems, files := 0, 0
	for i := range sources {
		before, after, n, err := mended(&sources[i])
		if err != nil {
			return err
		}
		if n > 0 {
			problems += n
			files++
			fmt.Fprint(a.Stdout, diffText(sources[i].name, before, after))
		}
	}
	fmt.Fprintf(a.Stderr, "would fix %s in %s\n", counted(problems, "problem"), counted(files, "file"))
	return nil
}

// diffText is the difference between two texts of a file.
func diffText(name string, before, after []byte) string {
	return fmt.Sprintf("--- %s\n+++ %s\n%s\n", name, name, strings.Join(flowtest.Lines(string(before), string(after)), "\n"))
}

// mended is the text of a file before and after it is mended, again and again while
// there is something to mend; fixed is 0 when nothing changes.
func mended(s *source) (before, after []byte, fixed int, err error) {
	src := s.src
	if src == nil {
		if src, err = bounded.ReadArgument(s.name, bounded.Text); err != nil {
			return nil, nil, 0, usage(err)
		}
	}
	before = src
	const rounds = 200 // each mends at least one finding
	for range rounds {
		checked := inspect.Check(s.name, src, false)
		edits := fix.Edits(checked.Graph, checked.Found)
		if len(edits) == 0 {
			break
		}
		next, made := helpful(s.name, src, checked.Found, edits)
		if made == 0 {
			break
		}
		src = next
		fixed += made
	}
	if bytes.Equal(src, before) {
		return before, before, 0, nil
	}
	return before, src, fixed, nil
}

// helpful makes the edits, but for those that bring findings of their own: no
// such change is to be made unasked.
func helpful(name string, src []byte, before spec.Diagnostics, edits []fix.Edit) (next []byte, made int) {
	var plain []fix.Edit
	for _, e := range edits {
		if !e.Spelling {
			plain = append(plain, e)
		}
	}
	if len(plain) > 0 {
		next := fix.Apply(src, plain)
		if len(inspect.Check(name, next, false).Found) <= len(before)-len(plain) {
			return next, len(plain)
		}
	}
	for _, e := range edits {
		if !e.Spelling {
			continue
		}
		// A word that is right now may show what was hidden by the error, elsewhere.
		next := fix.Apply(src, []fix.Edit{e})
		line := bytes.Count(src[:e.Span.From], []byte("\n")) + 1
		if errorsOn(line, inspect.Check(name, next, false).Found) < errorsOn(line, before) {
			return next, 1
		}
	}
	return src, 0
}

func errorsOn(line int, found spec.Diagnostics) int {
	n := 0
	for _, d := range found {
		if d.Severity == spec.Error && d.File.Position(d.Span.From).Line == line {
			n++
		}
	}
	return n
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
