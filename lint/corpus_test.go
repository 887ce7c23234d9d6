package lint

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/internal/longtest"
	"github.com/graphrun/graphrun/spec"
)

// checkFile returns the findings of validate in a file, which may refer to files in its folder.
func checkFile(t *testing.T, path string) (src string, found spec.Diagnostics) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	g, found := spec.Parse(filepath.Base(path), text, spec.Options{})
	found = append(found, spec.Check(g)...)
	found = append(found, Check(g, Options{Broken: FirstError(found), Optional: optional(filepath.Dir(path)), Price: price, Load: func(name string) ([]byte, error) {
		return os.ReadFile(filepath.Join(filepath.Dir(path), filepath.FromSlash(name)))
	}})...)
	return string(text), WithoutEchoes(Filter(g.File, found))
}

// price knows the prices of all models except in flows about unknown prices.
func price(model string, _ int) (float64, bool) {
	return 0.001, model != "" && !strings.HasSuffix(model, "/small") && model != "desk/medium" && !strings.HasSuffix(model, "of-tomorrow")
}

// optional reports whether the flows of a folder are about a rule that is off
// by default.
func optional(dir string) bool {
	return slices.Contains(OptionalRules(), filepath.Base(dir))
}

// wants reads the lines `# want: rule line:column` of a flow, or of the file
// next to a flow that can't have comments.
func wants(t *testing.T, path, src string) []string {
	t.Helper()
	if filepath.Ext(path) == ".json" {
		text, err := os.ReadFile(path + ".want")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(string(text)), "\n")
	}
	var out []string
	for line := range strings.Lines(src) {
		if want, ok := strings.CutPrefix(line, "# want: "); ok {
			out = append(out, strings.TrimSpace(want))
		}
	}
	return out
}

func flows(t *testing.T, pattern string) []string {
	t.Helper()
	var out []string
	for _, ext := range []string{".yaml", ".json"} {
		paths, err := filepath.Glob(pattern + ext)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, paths...)
	}
	slices.Sort(out)
	return out
}

// corpus counts the found and the missed planted defects of a corpus. A finding without a planted
// defect is a false alarm and fails the test.
type corpus struct{ found, missed int }

func (c *corpus) compare(t *testing.T, want, got []string, found spec.Diagnostics) {
	t.Helper()
	left := slices.Clone(got)
	for _, w := range want {
		if i := slices.Index(left, w); i >= 0 {
			left = slices.Delete(left, i, i+1)
			c.found++
			continue
		}
		c.missed++
		t.Logf("missed: %s", w)
	}
	if len(left) > 0 || len(want) == 0 {
		t.Errorf("want %v, found: %s", want, describe(found))
	}
}

// check requires that at least 90 % were found.
func (c *corpus) check(t *testing.T) {
	t.Helper()
	t.Logf("%d found, %d missed", c.found, c.missed)
	if 9*c.missed > c.found {
		t.Errorf("%d of %d were missed, at most a tenth may be", c.missed, c.found+c.missed)
	}
}

// Almost all planted defects of the corpus are found at their positions, and nothing else is
// reported.
func TestDefects(t *testing.T) {
	t.Parallel()
	paths := flows(t, "../testdata/defects/*/*")
	const least = 120
	if len(paths) < least {
		t.Fatalf("%d flows, want at least %d", len(paths), least)
	}
	rules := map[string]int{}
	var all corpus
	defer func() { all.check(t) }()
	for i, path := range paths {
		rule := filepath.Base(filepath.Dir(path))
		if rules[rule]++; i%longtest.Choose(4, 1) > 0 {
			continue
		}
		t.Run(rule+"/"+filepath.Base(path), func(t *testing.T) {
			src, found := checkFile(t, path)
			var got []string
			for _, d := range found {
				at := d.File.Position(d.Span.From)
				got = append(got, fmt.Sprintf("%s %d:%d", d.Rule, at.Line, at.Column))
			}
			all.compare(t, wants(t, path, src), got, found)
		})
	}
	for _, name := range RuleNames() {
		if rules[name] < 2 {
			t.Errorf("%s has %d flows, want at least 2", name, rules[name])
		}
	}
}

// Correct flows raise nothing, no warning either.
func TestClean(t *testing.T) {
	t.Parallel()
	paths := append(flows(t, "../testdata/clean/*"), flows(t, "../examples/*/*")...)
	const least = 60
	if len(paths) < least {
		t.Errorf("%d flows, want at least %d", len(paths), least)
	}
	for _, path := range paths {
		if text, err := os.ReadFile(path); err != nil || !spec.IsGraph(text) {
			continue
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			_, found := checkFile(t, path)
			found = slices.DeleteFunc(found, func(d spec.Diagnostic) bool { return d.Severity == spec.Info })
			if len(found) > 0 {
				t.Errorf("found: %s", describe(found))
			}
		})
	}
}

// Findings and their order are the same in every run.
func TestDeterminism(t *testing.T) {
	t.Parallel()
	paths := flows(t, "../testdata/defects/*/*")
	all := func() string {
		var b strings.Builder
		for i := 0; i < len(paths); i += 6 {
			_, found := checkFile(t, paths[i])
			b.WriteString(describe(found))
			for _, d := range found {
				fmt.Fprintln(&b, d.Suggestion, len(d.Related))
			}
		}
		return b.String()
	}
	first := all()
	for range longtest.Choose(3, 15) {
		if got := all(); got != first {
			t.Fatalf("another run says\n%s\nthe first said\n%s", got, first)
		}
	}
}
