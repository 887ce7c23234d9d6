package spec

import (
	"strings"
	"testing"
)

// A character that nobody sees is named where it stands, whatever the finding
// was about; texts that may hold it are left alone.
func TestOddCharacters(t *testing.T) {
	const head = "graphrun: v1\nname: x\nstart: a\n"
	for _, test := range []struct{ src, mark, name, suggestion string }{
		{head + "nodes:\n  a: {kind:\u00a0pass}\n", "\u00a0", "no-break space (U+00A0)", " "},
		{head + "nodes:\n  a:\n    kind:\u00a0pass\n", "\u00a0", "no-break space (U+00A0)", " "},
		{head + "nodes:\n  a:\n\u00a0   kind: pass\n", "\u00a0", "no-break space (U+00A0)", " "},
		{head + "nodes:\n  a\u200b: {kind: pass}\n", "\u200b", "zero-width space (U+200B)", ""},
		{head + "nodes:\n  a: {\ufeffkind: pass}\n", "\ufeff", "byte order mark (U+FEFF)", ""},
		{head + "nodes:\n  a: {kind: pass, timeout: “1s”}\n", "“", "typographic quote (U+201C)", `"`},
		{head + "limits: {max_steps: −1}\nnodes:\n  a: {kind: pass}\n", "−", "minus sign", "-"},
	} {
		_, found := Parse("x.yaml", []byte(test.src), Options{})
		named := 0
		for _, d := range found.NameOdd() {
			if !strings.Contains(d.Message, test.name) {
				continue
			}
			named++
			if at := test.src[d.Span.From:d.Span.To]; at != test.mark || d.Suggestion != test.suggestion {
				t.Errorf("%q: at %q, suggested %q: %s", test.src, at, d.Suggestion, d.Message)
			}
		}
		if named != 1 {
			t.Errorf("%q: named %d times in %v", test.src, named, found)
		}
	}
	src := head + "description: “it’s here” — an\u00a0introduction\nnodes:\n  a: {kind: fail, message: “no”}\n"
	if _, found := Parse("x.yaml", []byte(src), Options{}); len(found.NameOdd()) > 0 {
		t.Errorf("found %v", found)
	}
}
