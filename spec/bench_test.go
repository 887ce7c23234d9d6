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

func BenchmarkParse10k(b *testing.B) {
	src := large(10_000)
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
