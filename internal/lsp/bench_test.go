package lsp

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkEdit measures an edit in a file of 1,000 nodes: finding the names again, and a
// completion.
func BenchmarkEdit(b *testing.B) {
	var src strings.Builder
	src.WriteString("graphrun: v1\nname: f\nstart: n0\nstate: {k: {type: integer, default: 0}}\nnodes:\n")
	for i := range 1000 {
		fmt.Fprintf(&src, "  n%d: {kind: set, set: {k: k + %d}}\n", i, i)
	}
	src.WriteString("edges:\n")
	for i := range 999 {
		fmt.Fprintf(&src, "  - {from: n%d, to: n%d, when: k > %d}\n", i, i+1, i)
	}
	src.WriteString("  - {from: n999, to: END}\n")
	d := &document{text: newText(src.String())}
	p := &params{Position: position{1500, 22}}
	for b.Loop() {
		at := textRange{position{1500, 10}, position{1500, 10}}
		d.text = d.text.replaceRange(at, "x").replaceRange(textRange{position{1500, 10}, position{1500, 11}}, "")
		d.names = indexNames(d.path, d.text)
		if out, err := listCompletions(d, p); err != nil || len(out.([]completion)) == 0 {
			b.Fatal(out, err)
		}
	}
}
