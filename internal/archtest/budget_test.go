// How many lines each part of the program may have.

package archtest

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"
)

// maxTotal bounds the lines of all Go without tests.
const maxTotal = 85_000

// budget bounds the lines of Go, without tests, below some folders. Raise one in a commit that says
// why.
type budget struct {
	part string // folders, separated by spaces; the longest that holds a file counts it
	most int
}

func budgets() []budget {
	return []budget{
		{"cmd", 25},
		{"spec", 5000},
		{"eval", 4300},
		{"internal/bind internal/schema", 3000},
		{"runner/machine", 9000},
		{"runner", 8200},
		{"runner/store", 2700},
		{"node tool", 6400},
		{"model", 4600},
		{"internal/analysis internal/solve internal/bound", 7800},
		{"lint", 5800},
		{"flowtest", 4500},
		{"internal/cli", 7500},
		{"internal/serve internal/mcpserver internal/trigger internal/catalog internal/fleet", 4900},
		{"render internal/runview internal/inspect internal/report internal/flowdiff", 5300},
		{"internal/lsp internal/fix", 2500},
		{"temporal", 4300},
		{"packaging examples", 800},
		{"", 2500}, // all other packages
	}
}

// countLines sums the lines of files that are no tests by the part that holds them.
func countLines(files []source, table []budget) map[string]int {
	out := map[string]int{}
	for _, s := range files {
		dir := s.name[:max(0, strings.LastIndexByte(s.name, '/'))]
		if s.isTest() || strings.HasSuffix(dir, "test") && dir != "flowtest" { // which users have
			continue
		}
		part, longest := "", -1
		for _, b := range table {
			for _, folder := range strings.Split(b.part, " ") {
				inside := folder == "" || dir == folder || strings.HasPrefix(dir, folder+"/")
				if inside && len(folder) > longest {
					part, longest = b.part, len(folder)
				}
			}
		}
		out[part] += bytes.Count(s.text, []byte("\n"))
	}
	return out
}

func TestBudgets(t *testing.T) {
	table := budgets()
	lines := countLines(sources(t), table)
	total := 0
	for _, part := range slices.SortedFunc(maps.Keys(lines), func(a, b string) int { return cmp.Compare(lines[b], lines[a]) }) {
		i := slices.IndexFunc(table, func(b budget) bool { return b.part == part })
		t.Logf("%6d of %5d  %s", lines[part], table[i].most, part)
		if lines[part] > table[i].most {
			t.Errorf("%s has %d lines; at most %d", part, lines[part], table[i].most)
		}
		total += lines[part]
	}
	t.Logf("%6d of %d in all", total, maxTotal)
	if total > maxTotal {
		t.Errorf("%d lines in all; at most %d", total, maxTotal)
	}
}

func TestBudgetsCanFail(t *testing.T) {
	files := []source{
		{name: "runner/a.go", text: []byte("a\nb\n")},
		{name: "runner/machine/b.go", text: []byte("c\n")},
		{name: "runner/a_test.go", text: []byte("d\n")},
		{name: "runner/storetest/c.go", text: []byte("e\n")},
		{name: "internal/other/d.go", text: []byte("f\n")},
	}
	got := countLines(files, []budget{{part: ""}, {part: "runner"}, {part: "runner/machine"}})
	if want := map[string]int{"runner": 2, "runner/machine": 1, "": 1}; !maps.Equal(got, want) {
		t.Errorf("counted %v, want %v", got, want)
	}
}
