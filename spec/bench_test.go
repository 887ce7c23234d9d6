package spec

import (
	"fmt"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// large is a file with n nodes in a chain and two edges for each.
func large(n int) []byte {
	var b strings.Builder
	b.WriteString("graphrun: v1\nname: large\nstart: n0\nstate:\n  count: {type: integer, default: 0}\nnodes:\n")
	for i := range n {
		fmt.Fprintf(&b, "  n%d: {kind: set, set: {count: \"count + 1\"}}\n", i)
	}
	b.WriteString("edges:\n")
	for i := range n {
		next := fmt.Sprintf("n%d", i+1)
		if i == n-1 {
			next = END
		}
		fmt.Fprintf(&b, "  - {from: n%d, to: n%d, when: \"count < 0\"}\n  - {from: n%d, to: %s}\n", i, i/2, i, next)
	}
	return []byte(b.String())
}

// mixed is a file with n nodes of several kinds, and edges with conditions.
func mixed(n int) []byte {
	var b strings.Builder
	b.WriteString("graphrun: v1\nname: mixed\nstart: n0\nlimits: {max_steps: 100, timeout: 10m}\nstate:\n" +
		"  n: {type: integer, default: 0}\n  mood: {type: string, enum: [a, b, c], default: a}\n" +
		"  notes: {type: array, items: {type: string}, reducer: append, default: []}\nnodes:\n")
	nodes := []string{
		"  n%d: {kind: set, set: {n: n + 1, mood: \"n > 3 ? 'b' : 'a'\"}}\n",
		"  n%d:\n    kind: exec\n    command: [echo, \"{{ mood }}\"]\n    writes: [mood]\n    retry: {max_attempts: 2}\n",
		"  n%d:\n    kind: http\n    method: POST\n    url: https://example.com/api\n    body: {text: \"{{ mood }}\"}\n",
		"  n%d:\n    kind: set\n    description: keep a note\n    set: {notes: \"['note']\", n: n + 1}\n",
		"  n%d: {kind: pass}\n",
	}
	for i := range n {
		fmt.Fprintf(&b, nodes[i%len(nodes)], i)
	}
	b.WriteString("edges:\n")
	for i := range n - 1 {
		fmt.Fprintf(&b, "  - {from: n%d, to: n%d, when: \"n < 5 and mood in ['a', 'b']\"}\n  - {from: n%d, to: n%d}\n", i, i/2, i, i+1)
	}
	fmt.Fprintf(&b, "  - {from: n%d, to: END}\n", n-1)
	return []byte(b.String())
}

// What reading a small file and a large one costs beside the YAML library's part.
func BenchmarkParseMixed50(b *testing.B) { benchmarkParse(b, mixed(50)) }

func BenchmarkParse10k(b *testing.B) { benchmarkParse(b, large(10_000)) }

func benchmarkParse(b *testing.B, src []byte) {
	b.Run("yaml", func(b *testing.B) {
		b.SetBytes(int64(len(src)))
		b.ReportAllocs()
		for b.Loop() {
			var doc yaml.Node
			if err := yaml.Unmarshal(src, &doc); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("parse", func(b *testing.B) {
		b.SetBytes(int64(len(src)))
		b.ReportAllocs()
		for b.Loop() {
			if _, diags := Parse("f.yaml", src, Options{}); len(diags) > 0 {
				b.Fatal(diags[0])
			}
		}
	})
	b.Run("parse and check", func(b *testing.B) {
		b.SetBytes(int64(len(src)))
		b.ReportAllocs()
		for b.Loop() {
			g, diags := Parse("f.yaml", src, Options{})
			if diags = append(diags, Check(g)...); len(diags) > 0 {
				b.Fatal(diags[0])
			}
		}
	})
}

func BenchmarkParseSmall(b *testing.B) {
	src := []byte(head + tail)
	b.ReportAllocs()
	for b.Loop() {
		g, _ := Parse("f.yaml", src, Options{})
		Check(g)
	}
}

func BenchmarkIsGraph(b *testing.B) {
	src := []byte(strings.Replace(string(large(1000)), "graphrun: v1\n", "", 1) + "# graphrun\n")
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		if IsGraph(src) {
			b.Fatal("no graph")
		}
	}
}
