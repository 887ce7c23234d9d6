package spec

import (
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/internal/bigflowtest"
)

// What reading a small file and a large one costs beside the YAML library's part.
func BenchmarkParseMixed50(b *testing.B) { benchmarkParse(b, []byte(bigflowtest.Mixed(50, 0))) }

func BenchmarkParse10k(b *testing.B) { benchmarkParse(b, []byte(bigflowtest.Uniform(10_000))) }

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
	src := []byte(strings.Replace(bigflowtest.Uniform(1000), "graphrun: v1\n", "", 1) + "# graphrun\n")
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		if IsGraph(src) {
			b.Fatal("no graph")
		}
	}
}
