package cli

import "testing"

func TestIgnores(t *testing.T) {
	src := `# graphrun: ignore above, second  , third because it is so
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
# graphrun: ignore last`
	got := ignores([]byte(src))
	for _, c := range []struct {
		line int
		rule string
		want bool
	}{
		{1, "above", true},
		{2, "above", true},
		{2, "second", true},
		{2, "third", true},
		{2, "because", false},
		{2, "abov", false},
		{3, "above", false},
		{3, "here", true},
		{4, "here", false},
		{5, "quoted", false},
		{6, "quoted", false},
		{7, "apostrophe", true},
		{8, "glued", false},
		{10, "indented", true},
		{12, "nothing", false},
		{14, "last", true},
	} {
		if got.has(c.line, c.rule) != c.want {
			t.Errorf("line %d, rule %s: silenced is %v, want %v", c.line, c.rule, !c.want, c.want)
		}
	}
	if ignores([]byte("no: comment\n")) != nil {
		t.Error("a file without a comment silences something")
	}
}
