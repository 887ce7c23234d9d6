package suppress

import (
	"slices"
	"testing"

	"github.com/graphrun/graphrun/spec"
)

func names() []string { return []string{"missing-join", "unused-key"} }

func TestIgnores(t *testing.T) {
	src := `# graphrun: ignore above, second  , missing-join because it is so, really
line two
a: b # graphrun: ignore here
line four
key: "# graphrun: ignore quoted"
key: 'it''s # graphrun: ignore quoted'
key: don't # graphrun: ignore apostrophe
key: a#graphrun: ignore glued
   #   graphrun: ignore indented
line ten
# graphrun: ignored nothing
line twelve
# graphrun: ignore one
# graphrun: ignore two
# why both
line sixteen
# graphrun: ignore last`
	list := readIgnores([]byte(src), names)
	has := func(line int, rule string) bool {
		return slices.ContainsFunc(list, func(c ignore) bool { return c.rule == rule && slices.Contains(c.lines, line) })
	}
	for _, c := range []struct {
		line int
		rule string
		want bool
	}{
		{1, "above", true},
		{2, "above", true},
		{2, "second", true},
		{2, "missing-join", true},
		{2, "because", false},
		{2, "really", false},
		{3, "above", false},
		{3, "here", true},
		{4, "here", false},
		{5, "quoted", false},
		{6, "quoted", false},
		{7, "apostrophe", true},
		{8, "glued", false},
		{10, "indented", true},
		{12, "nothing", false},
		{16, "one", true},
		{16, "two", true},
		{17, "last", true},
	} {
		if has(c.line, c.rule) != c.want {
			t.Errorf("line %d, rule %s: silenced is %v, want %v", c.line, c.rule, !c.want, c.want)
		}
	}
	for _, c := range list {
		if got := src[c.span.From:c.span.To]; got != c.rule {
			t.Errorf("the place of %q is %q", c.rule, got)
		}
	}
	if readIgnores([]byte("no: comment\n"), names) != nil {
		t.Error("a file without a comment silences something")
	}
}

func TestApply(t *testing.T) {
	src := "a: 1 # graphrun: ignore unused-key\nb: 2 # graphrun: ignore unused-kee\n"
	file := spec.NewFile("f.yaml", []byte(src))
	found := Apply(file, spec.Diagnostics{
		{File: file, Rule: "unused-key", Span: spec.Span{From: 0, To: 1}, Message: "a"},
		{File: file, Rule: "unused-key", Span: spec.Span{From: 35, To: 36}, Message: "b"},
	}, names, func() []string { return nil })
	if len(found) != 2 || found[0].Message != "b" || found[1].Rule != "unused-ignore" || found[1].Suggestion != "unused-key" {
		t.Errorf("got %v", found)
	}
}
