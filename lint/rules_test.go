package lint

import (
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/spec"
)

// checkText returns all findings of validate in a graph, sorted.
func checkText(name, src string, files map[string]string, optional ...bool) spec.Diagnostics {
	g, found := spec.Parse(name, []byte(src), spec.Options{})
	found = append(found, spec.Check(g)...)
	found = append(found, Check(g, Options{
		Price:  func(model string, _ int) (float64, bool) { return 1, !strings.HasSuffix(model, "-of-tomorrow") },
		Broken: FirstError(found), Optional: slices.Contains(optional, true),
		Load: func(path string) ([]byte, error) {
			if text, ok := files[path]; ok {
				return []byte(text), nil
			}
			return nil, fs.ErrNotExist
		},
	})...)
	return Filter(g.File, found)
}

func describe(ds spec.Diagnostics) string {
	var b strings.Builder
	for _, d := range ds {
		at := d.File.Position(d.Span.From)
		b.WriteString(strings.Join([]string{"\n  ", d.Rule, " ", strconv.Itoa(at.Line), ":", strconv.Itoa(at.Column), " ", d.Message}, ""))
	}
	return b.String()
}

// Every bad example raises only its rule, and no good example raises any.
func TestExamples(t *testing.T) {
	for _, r := range Rules() {
		t.Run(r.Name, func(t *testing.T) {
			bad := checkText("f.yaml", r.Bad, r.Files, r.Off)
			if len(bad) == 0 {
				t.Error("the bad example raises nothing")
			}
			for _, d := range bad {
				if d.Rule != r.Name || d.Severity != r.Severity {
					t.Errorf("the bad example raises: %s (%s)", describe(spec.Diagnostics{d}), d.Severity)
				}
			}
			if good := checkText("f.yaml", r.Good, r.Files, r.Off); len(good) > 0 {
				t.Errorf("the good example raises: %s", describe(good))
			}
		})
	}
}

func TestRulesAreSortedAndDocumented(t *testing.T) {
	names := RuleNames()
	if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("names are not sorted and unique: %v", names)
	}
	for _, r := range Rules() {
		if r.Summary == "" || r.Doc == "" || r.Bad == "" || r.Good == "" || r.Severity == 0 {
			t.Errorf("%s lacks a part", r.Name)
		}
		if strings.HasSuffix(r.Summary, ".") || !strings.HasSuffix(r.Doc, ".") {
			t.Errorf("%s: a summary is a phrase, a doc is sentences", r.Name)
		}
	}
}
