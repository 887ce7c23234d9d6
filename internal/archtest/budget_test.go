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

// budget bounds the lines of Go, without tests, below some folders. The goal is the
// budget of the design; where a part is still larger, limit is what it has today. Raise
// a limit in a commit that says why; lower it when a part has shrunk.
type budget struct {
	part        string // folders, separated by spaces; the longest that holds a file counts it
	limit, goal int
}

func budgets() []budget {
	return []budget{
		{"cmd", 25, 25},
		{"spec", 5540, 5000},
		{"eval", 4410, 4300},
		{"internal/bind internal/schema", 2765, 3000},
		{"runner/machine", 8610, 9000},
		{"runner", 7800, 8200},
		{"runner/store", 2505, 2700},
		{"node tool", 5710, 6400},
		{"model", 4000, 4600},
		{"internal/analysis internal/solve internal/graphalg internal/bound", 7890, 7800},
		{"lint", 5830, 5300},
		{"flowtest", 3930, 4500},
		{"internal/cli", 6100, 7500},
		{"internal/serve internal/mcpserver internal/trigger internal/catalog internal/fleet", 4230, 4900},
		{"render internal/runview internal/inspect internal/report internal/flowdiff", 5355, 5300},
		{"internal/lsp internal/fix", 2225, 2500},
		{"temporal", 4295, 4300},
		{"packaging examples", 570, 800},
		{"", 3310, 2500}, // all other packages
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
		t.Logf("%6d of %5d (goal %5d)  %s", lines[part], table[i].limit, table[i].goal, part)
		if lines[part] > table[i].limit {
			t.Errorf("%s has %d lines; at most %d", part, lines[part], table[i].limit)
		}
		total += lines[part]
	}
	t.Logf("%6d lines in all (goal 85000)", total)
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
