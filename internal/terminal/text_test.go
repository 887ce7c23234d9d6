package terminal

import (
	"strings"
	"testing"
)

func TestWidthAndTruncate(t *testing.T) {
	for _, c := range []struct {
		in      string
		width   int
		columns int
		want    string
	}{
		{"", 0, 3, ""},
		{"plain", 5, 5, "plain"},
		{"plain", 5, 4, "pla…"},
		{"plain", 5, 1, "…"},
		{"plain", 5, 0, ""},
		{"日本語", 6, 6, "日本語"},
		{"日本語", 6, 5, "日本…"},
		{"日本語", 6, 4, "日…"},
		{"e\u0301a", 2, 2, "e\u0301a"},
	} {
		if got := Width(c.in); got != c.width {
			t.Errorf("Width(%q) = %d, want %d", c.in, got, c.width)
		}
		got := Truncate(c.in, c.columns)
		if got != c.want {
			t.Errorf("Truncate(%q, %d) = %q, want %q", c.in, c.columns, got, c.want)
		}
		if Width(got) > c.columns {
			t.Errorf("Truncate(%q, %d) is %d columns wide", c.in, c.columns, Width(got))
		}
	}
}

func TestPad(t *testing.T) {
	if got := Pad("日", 4); got != "日  " {
		t.Errorf("got %q", got)
	}
	if got := Pad("long", 2); got != "long" {
		t.Errorf("got %q", got)
	}
}

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		"a\nb\tc":         "a b c",
		"\x1b[31mred":     "�[31mred",
		"bad \xff byte":   "bad � byte",
		"right\u202eleft": "right�left",
		"naïve 日本":        "naïve 日本",
	} {
		if got := Line(in); got != want {
			t.Errorf("Line(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		in              string
		columns, indent int
		want            string
	}{
		{"", 10, 2, ""},
		{"short", 10, 2, "short"},
		{"one two three four", 9, 2, "one two\n  three\n  four"},
		{"one two", 3, 9, "one\ntwo"},
		{"  one two", 6, 2, "  one\n  two"},
		{"[1]  a  text that goes on", 14, 5, "[1]  a  text\n     that goes\n     on"},
		{"abcdefgh", 3, 0, "abc\ndef\ngh"},
		{"a bcdefgh", 4, 1, "a\n bcd\n efg\n h"},
		{"日本語", 4, 0, "日本\n語"},
		{"日本語", 1, 0, "日\n本\n語"},
		{"exactly ten", 11, 2, "exactly ten"},
		{"ten       wide", 4, 0, "ten\nwide"},
		{"\x1b[31mred words\x1b[0m here", 9, 2, "\x1b[31mred words\x1b[0m\n  here"},
		{"no width", 0, 2, "no width"},
	} {
		got := strings.Join(Wrap(c.in, c.columns, c.indent), "\n")
		if got != c.want {
			t.Errorf("Wrap(%q, %d, %d) = %q, want %q", c.in, c.columns, c.indent, got, c.want)
		}
	}
}

func TestTruncateStart(t *testing.T) {
	for _, test := range []struct {
		text    string
		columns int
		want    string
	}{
		{"abcdef", 6, "abcdef"},
		{"abcdef", 5, "…cdef"},
		{"ab漢字", 5, "…漢字"},
		{"ab漢字", 4, "…字"}, // a wide character is not split
		{"abc", 1, "…"},
		{"abc", 0, ""},
		{"abc", -3, ""},
		{"", 0, ""},
	} {
		if got := TruncateStart(test.text, test.columns); got != test.want || Width(got) > max(test.columns, 0) {
			t.Errorf("%q in %d: got %q, want %q", test.text, test.columns, got, test.want)
		}
	}
}
