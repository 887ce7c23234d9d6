package lint

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/internal/longtest"
	"github.com/graphrun/graphrun/spec"
)

// edited is a flow with one change.
type edited struct {
	flow, name string
	from, to   string   // the text and its replacement; the flow is unchanged if from is empty
	wants      []string // "rule  text on its line"; none for a correct flow
	join       string   // between the lines of to
	mark       string   // "!" defect, "~" defect that is only called undecided, "=" correct
}

// readEdits reads testdata/flows/edits.txt, whose first lines explain its format.
func readEdits(t *testing.T) []edited {
	t.Helper()
	text, err := os.ReadFile("../testdata/flows/edits.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out []edited
	flow := ""
	for line := range strings.Lines(string(text)) {
		mark, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if len(out) == 0 && strings.Contains("-+?", mark) && mark != "" {
			t.Fatalf("%q stands before any edit", line)
		}
		switch mark {
		case "==":
			flow = rest
		case "!", "~", "=":
			out = append(out, edited{flow: flow, name: rest, mark: mark})
		case "-": // several lines are whole lines
			e := &out[len(out)-1]
			if e.from != "" {
				e.from, e.join = e.from+"\n", "\n"
			}
			e.from += rest
		case "+":
			e := &out[len(out)-1]
			if e.to != "" {
				e.to += cmp.Or(e.join, "\n  - ")
			}
			e.to += rest
		case "?":
			e := &out[len(out)-1]
			e.wants = append(e.wants, rest)
		}
	}
	return out
}

// foundIn checks a text as if it were a file among the realistic flows.
func foundIn(text string) spec.Diagnostics {
	g, found := spec.Parse("flow.yaml", []byte(text), spec.Options{})
	found = append(found, spec.Check(g)...)
	found = append(found, Check(g, Options{Broken: FirstError(found), Price: price, Load: func(name string) ([]byte, error) {
		return os.ReadFile(filepath.Join("../testdata/flows", filepath.FromSlash(name)))
	}})...)
	return Filter(g.File, found)
}

// Realistic flows have no findings. Each edit of one causes the listed findings at their positions,
// and no others.
func TestRealisticFlows(t *testing.T) {
	t.Parallel()
	var wrong, undecided, right int
	var all corpus
	defer func() { all.check(t) }()
	base := map[string]string{}
	bases := longtest.Choose(6, 1)
	for i, path := range flows(t, "../testdata/flows/*") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		base[name], right = string(text), right+1
		if i%bases > 0 {
			continue
		}
		g, _ := spec.Parse("flow.yaml", text, spec.Options{})
		if n := len(g.Nodes); n < 8 || n > 40 {
			t.Errorf("%s has %d nodes, want 8 to 40", name, n)
		}
		checkEdited(t, &all, &edited{mark: "="}, base[name])
	}
	every := longtest.Choose(32, 1)
	for i, e := range readEdits(t) {
		switch e.mark {
		case "!":
			wrong++
		case "~":
			undecided++
		default:
			right++
		}
		if i%every != 0 {
			continue
		}
		t.Run(e.flow+"/"+strings.ReplaceAll(e.name, " ", "_"), func(t *testing.T) {
			if strings.Count(base[e.flow], e.from) != 1 || e.from == "" {
				t.Fatalf("%q stands %d times in %s, want once", e.from, strings.Count(base[e.flow], e.from), e.flow)
			}
			text := strings.Replace(base[e.flow], e.from, e.to, 1)
			checkEdited(t, &all, &e, text)
		})
	}
	t.Logf("%d flows: %d defects, %d undecided ones, %d right variations; each %dth was checked", len(base), wrong, undecided, right-len(base), every)
	if wrong < 200 || right < 100 || len(base) < 20 {
		t.Errorf("%d flows, %d defects and %d right ones, want at least 20, 200 and 100", len(base), wrong, right)
	}
}

func checkEdited(t *testing.T, all *corpus, e *edited, text string) {
	t.Helper()
	if (e.mark == "=") == (len(e.wants) > 0) {
		t.Fatal("a defect has findings, what is right has none")
	}
	var want, got []string
	for _, w := range e.wants {
		rule, place, _ := strings.Cut(w, "  ")
		if strings.Count(text, place) == 0 || place == "" {
			t.Fatalf("%q does not stand in the changed flow; found: %s", place, describe(foundIn(text)))
		}
		before := text[:strings.LastIndex(text, place)]
		want = append(want, fmt.Sprintf("%s %d", rule, 1+strings.Count(before, "\n")))
	}
	found := foundIn(text)
	for _, d := range found {
		if d.Severity == spec.Info && e.mark != "~" {
			continue
		}
		got = append(got, fmt.Sprintf("%s %d", d.Rule, d.File.Position(d.Span.From).Line))
	}
	switch e.mark {
	case "=":
		if len(got) > 0 {
			t.Errorf("%s: found: %s", e.name, describe(found))
		}
	case "~":
		if len(want) != 1 || !slices.Contains(got, want[0]) || found.HasErrors() {
			t.Errorf("%s want %v, found: %s", e.name, want, describe(found))
		}
	default:
		all.compare(t, want, got, found)
	}
}
