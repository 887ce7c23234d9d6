package node

import (
	"strings"
	"testing"
	"unicode/utf8"

	procs "github.com/graphrun/graphrun/internal/process"
)

func TestTail(t *testing.T) {
	for _, test := range []struct {
		writes []string
		want   string
	}{
		{nil, ""},
		{[]string{"ab", "c"}, "abc"},
		{[]string{"abcd", "efghi"}, "fghi"},
		{[]string{"0123456789"}, "6789"},
		{[]string{"aéé"}, "éé"},
		{[]string{"éaé"}, "aé"}, // half a character is dropped
		{[]string{"ab\xff"}, "b\uFFFD"},
	} {
		w := &procs.Tail{Keep: 4 + utf8.UTFMax}
		for _, s := range test.writes {
			if n, err := w.Write([]byte(s)); n != len(s) || err != nil {
				t.Fatalf("wrote %d, %v", n, err)
			}
		}
		if got := tailText(w.Bytes(), 4); got != test.want {
			t.Errorf("%q: %q, want %q", test.writes, got, test.want)
		}
	}
}

func TestHeadText(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"abcd", "abcd"},
		{"abcde", "abcd"},
		{"abcé", "abc"},
		{"abéc", "abé"},
		{"\xff\xff\xff", "\uFFFD"},
		{"abcd\xff", "abcd"},
	} {
		if got := headText([]byte(test.text), 4); got != test.want {
			t.Errorf("%q: %q, want %q", test.text, got, test.want)
		}
	}
	if got := headText([]byte("\xbc\xbc\xbc"), 1); got != "" { // no character starts here
		t.Errorf("%q", got)
	}
}

func TestLastLine(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", ""},
		{"\n \r\n", ""},
		{"one\ntwo\n\n", "two"},
		{"10%\r50%\r", "50%"},
		{"\x1b[1;31merror:\x1b[0m\tno\x07", "error: no"},
		{"first\n\x1b[0m\n", "first"},
		{strings.Repeat("é", 300), strings.Repeat("é", 100) + "…"},
	} {
		if got := lastLine(test.text); got != test.want {
			t.Errorf("%q: %q, want %q", test.text, got, test.want)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add([]byte("a\x1b[0mé\xff\n"), 3)
	f.Add([]byte("\x1b"), 1)
	f.Fuzz(func(t *testing.T, b []byte, size int) {
		size = 1 + max(0, size)%64
		for _, got := range []string{headText(b, size), tailText(b, size)} {
			if len(got) > size || !utf8.ValidString(got) {
				t.Fatalf("%q is no valid text of at most %d bytes", got, size)
			}
		}
		if line := lastLine(string(b)); strings.ContainsAny(line, "\n\r\x1b") {
			t.Fatalf("line %q", line)
		}
	})
}
