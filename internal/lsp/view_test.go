package lsp_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/eval"
)

// The table of functions is that of the documentation, and has every function.
func TestFunctionTable(t *testing.T) {
	docs, err := os.ReadFile("../../docs/expressions.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(docs), "\n## Functions\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var want []string
	for _, line := range strings.Split(section, "\n") {
		if strings.HasPrefix(line, "| `") {
			want = append(want, line)
		}
	}
	have, err := os.ReadFile("functions.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, strings.Split(strings.TrimSpace(string(have)), "\n")); diff != "" {
		t.Errorf("functions.md is not the table of docs/expressions.md (-docs +functions.md):\n%s", diff)
	}
	for _, name := range eval.Functions() {
		if !strings.Contains(string(have), "`"+name+"(") {
			t.Errorf("%s is missing", name)
		}
	}
}

func TestView(t *testing.T) {
	text := strings.Replace(flow, "tries < 3 and", "max(tries, 2) < 3 and '𝄞' != 'x' and", 1)
	e := newEditor(t, filepath.Join(t.TempDir(), "flow.yaml"), text)
	whole := object{"textDocument": object{"uri": e.uri}}

	var folds []struct{ StartLine, EndLine int }
	e.call("textDocument/foldingRange", whole, &folds)
	if want := []struct{ StartLine, EndLine int }{{3, 5}, {6, 12}, {8, 11}, {13, 17}}; !cmp.Equal(folds, want) {
		t.Errorf("the folds are %v, want %v", folds, want)
	}

	var coded struct{ Data []int }
	e.call("textDocument/semanticTokens/full", whole, &coded)
	names := []string{"variable", "property", "function", "string", "number", "keyword", "class"}
	var tokens []string
	at := position{}
	for part := range slices.Chunk(coded.Data, 5) {
		if part[0] > 0 {
			at = position{at.Line + part[0], 0}
		}
		at.Character += part[1]
		from := e.offset(at)
		tokens = append(tokens, names[part[3]]+" "+e.text[from:e.offset(position{at.Line, at.Character + part[2]})])
	}
	want := []string{
		"variable tries", "number 1", "variable tries", "variable visits", "class draft",
		"function max", "variable tries", "number 2", "number 3", "keyword and", "string '𝄞'", "string 'x'", "keyword and", "variable nodes", "class draft", "property visits", "number 9",
	}
	if diff := cmp.Diff(want, tokens); diff != "" {
		t.Errorf("tokens (-want +got):\n%s", diff)
	}

	var help struct {
		Signatures []struct {
			Label      string
			Parameters []struct{ Label string }
		}
		ActiveParameter int
	}
	e.call("textDocument/signatureHelp", e.requestAt("2) <", 1), &help)
	if len(help.Signatures) != 1 || help.Signatures[0].Label != "max(1, 3, 2)" || len(help.Signatures[0].Parameters) != 3 || help.ActiveParameter != 1 {
		t.Errorf("the signature is %+v", help)
	}
	help.Signatures = nil
	e.call("textDocument/signatureHelp", e.requestAt("< 3 and", 1), &help)
	if len(help.Signatures) > 0 {
		t.Errorf("outside of a call the signature is %+v", help)
	}
	var hover struct{ Contents struct{ Value string } }
	e.call("textDocument/hover", e.requestAt("max(", 1), &hover)
	if !strings.Contains(hover.Contents.Value, "`max(1, 3, 2)` is `3`") {
		t.Errorf("it says %q", hover.Contents.Value)
	}

	var lenses []struct{ Command struct{ Command string } }
	e.call("textDocument/codeLens", whole, &lenses)
	if len(lenses) != 5 || lenses[0].Command.Command != "graphrun.run" {
		t.Errorf("the lenses are %+v", lenses)
	}
}
