// Whether the tests of the examples notice that a flow has changed.

package examples_test

import (
	"path/filepath"
	"testing"

	"github.com/graphrun/graphrun/flowtest"
)

// survivors are the changes that no case can notice, with the reason; the solver does
// not see it.
func survivors() map[string]string {
	const (
		seller  = "the seller's fifth visit always ends the talks, so the buyer never sees one"
		votes   = "three reviewers have one vote each, so only one of both can have two"
		numbers = "what begins with a word is not a number"
		stages  = "four stages of at most a minute never take five"
		side    = "three stages in a row, of at most five minutes each, never take thirty"
		twice   = "two looks add up to enough for every score that gets a look"
	)
	return map[string]string{
		"ci-pipeline: limits.timeout is dropped":                                                       stages,
		"parallel-ci: limits.timeout is dropped":                                                       side,
		"negotiation: buyer -> no-deal is tried before buyer -> deal":                                  seller,
		"negotiation: the condition of buyer -> no-deal is output.move == 'walk' or visits.seller > 5": seller,
		"review-board: board -> reject is tried before board -> publish":                               votes,
		"tool-router: next -> calculate is tried before next -> top":                                   numbers,
		"what-if: max_visits of look is 2":                                                             twice,
		"what-if: max_visits of look is 4":                                                             twice,
		"what-if: the condition of look -> look is visits.look < 3":                                    twice,
		"what-if: the edge look -> deny is dropped":                                                    twice,
	}
}

// Every change of an example is noticed by its tests, or explained.
func TestMutantsOfExamples(t *testing.T) {
	names, err := flowtest.Find(".")
	if err != nil {
		t.Fatal(err)
	}
	var files []*flowtest.File
	for _, name := range names {
		file, found, err := flowtest.Load(flowtest.Config{}, name)
		if err != nil || file == nil || found.HasErrors() {
			t.Fatal(name, found, err)
		}
		files = append(files, file)
	}
	m, err := flowtest.Mutate(flowtest.Config{}, files)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d of %d changes noticed, %d recognised as none", m.Killed, m.Mutants, m.Equivalent)
	explained := survivors()
	for _, s := range m.Survivors {
		key := filepath.Base(filepath.Dir(s.File)) + ": " + s.What
		if explained[key] == "" {
			t.Errorf("%s:%d: no case notices that %s", s.File, s.Line, s.What)
		}
		delete(explained, key)
	}
	for key, why := range explained {
		t.Errorf("%s is noticed now, or gone (%s)", key, why)
	}
}
