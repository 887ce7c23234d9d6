package spec

import (
	"math/rand"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestPositionsInLongLines compares positions with lines and columns counted from the start.
func TestPositionsInLongLines(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	pieces := []string{"a", "é", "€", "😀", "\xff", "\x80", "\xe2\x82", strings.Repeat("x", 700)}
	var b strings.Builder
	for b.Len() < 60_000 {
		b.WriteString(pieces[random.Intn(len(pieces))])
		if random.Intn(400) == 0 {
			b.WriteString("\n")
		}
	}
	f := NewFile("f", []byte(b.String()))
	for offset := 0; offset <= len(f.Src); offset += 1 + random.Intn(90) {
		start := strings.LastIndexByte(string(f.Src[:offset]), '\n') + 1
		want := Position{strings.Count(string(f.Src[:offset]), "\n") + 1, utf8.RuneCount(f.Src[start:offset]) + 1}
		if got := f.Position(offset); got != want {
			t.Fatalf("offset %d stands at %v, want %v", offset, got, want)
		}
	}
}

func TestAround(t *testing.T) {
	f := NewFile("f", []byte("first\nab€cdéfgh\r\nlast"))
	for _, c := range []struct {
		offset, reach int
		text          string
		at            int
		before, after bool
	}{
		{6, 100, "ab€cdéfgh", 0, false, false},
		{12, 2, "cd", 1, true, true}, // neither half of € nor of é
		{12, 4, "€cdéf", 4, true, true},
		{18, 3, "fgh", 3, true, false},
		{99, 2, "st", 2, true, false},
	} {
		text, at, before, after := f.Around(c.offset, c.reach)
		if text != c.text || at != c.at || before != c.before || after != c.after {
			t.Errorf("%d bytes around %d: %q at %d, %t, %t; want %+v", c.reach, c.offset, text, at, before, after, c)
		}
	}
}
