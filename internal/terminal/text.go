// Package terminal measures, shortens, wraps, sanitises and colours text for a terminal.
package terminal

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fatih/color"
	"golang.org/x/text/width"
)

// Replacement replaces unprintable characters.
const Replacement = "�"

// RuneWidth returns the columns of a character: 0, 1 or 2.
func RuneWidth(r rune) int {
	if r < 0x300 {
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Width returns the columns of a line of printable text.
func Width(s string) int {
	n := 0
	for _, r := range s {
		n += RuneWidth(r)
	}
	return n
}

// Truncate shortens a line of printable text to at most columns, with "…" at the end.
func Truncate(s string, columns int) string {
	if Width(s) <= columns {
		return s
	}
	if columns < 1 {
		return ""
	}
	used := 0
	for at, r := range s {
		if used += RuneWidth(r); used > columns-1 {
			return s[:at] + "…"
		}
	}
	return s
}

// TruncateStart works like Truncate, but keeps the end of the line, with "…" at the start.
func TruncateStart(s string, columns int) string {
	width := Width(s)
	if width <= columns {
		return s
	}
	if columns < 1 {
		return ""
	}
	for at, r := range s {
		if width <= columns-1 {
			return "…" + s[at:]
		}
		width -= RuneWidth(r)
	}
	return "…"
}

// Pad adds spaces to a line until it has a number of columns.
func Pad(s string, columns int) string {
	return s + strings.Repeat(" ", max(columns-Width(s), 0))
}

// IsPrintable reports whether a character is safe to print. Control characters and characters that
// change the text direction are not.
func IsPrintable(r rune) bool {
	switch {
	case unicode.IsControl(r), r == utf8.RuneError, r == '\u2028', r == '\u2029':
		return false
	case unicode.Is(unicode.Cf, r):
		return r == '\u200d' || r == '\u00ad'
	}
	return true
}

var spaces = strings.NewReplacer("\n", " ", "\t", " ", "\r", " ")

// Line makes a text safe for one line of a terminal: white space becomes a space, unprintable
// characters become Replacement.
func Line(s string) string { return Text(spaces.Replace(s)) }

// Text makes a text safe for a terminal and keeps its lines and tabs.
func Text(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || IsPrintable(r) {
			return r
		}
		return utf8.RuneError
	}, s)
}

// Wrap breaks a line of printable, perhaps coloured text into lines, between words if possible.
// All but the first line are indented, by at most half of the columns.
func Wrap(s string, columns, indent int) []string {
	if columns < 1 {
		return []string{s}
	}
	if indent > columns/2 {
		indent = min(4, columns/4)
	}
	var lines []string
	margin := ""
	for {
		at, next := findLineBreak(s, columns-len(margin))
		lines = append(lines, margin+strings.TrimRight(s[:at], " "))
		if next >= len(s) {
			return lines
		}
		s, margin = s[next:], strings.Repeat(" ", indent)
	}
}

// findLineBreak returns the end of the first line and the start of the next line. It breaks between
// two words, or else inside a word, but not before the first word.
func findLineBreak(s string, columns int) (at, next int) {
	used, words := 0, false
	for i := 0; i < len(s); {
		if n := colorLength(s[i:]); n > 0 {
			i += n
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == ' ' && words {
			at, next = i, i+len(s[i:])-len(strings.TrimLeft(s[i:], " "))
			used, i = used+next-i, next
			continue
		}
		words = true
		if used += RuneWidth(r); used > columns {
			if at == 0 {
				at = max(i, size) // at least one character, to make progress
				next = at
			}
			return at, next
		}
		i += size
	}
	return len(s), len(s)
}

// colorLength returns the length of a colour sequence at the start of s, or 0.
func colorLength(s string) int {
	if !strings.HasPrefix(s, "\x1b[") {
		return 0
	}
	return strings.IndexByte(s, 'm') + 1
}

// Colors paint parts of a text.
type Colors struct {
	Strong, Quiet, Good, Bad, Warn, Info func(a ...any) string
	StrongGood, StrongBad, StrongWarn    func(a ...any) string
}

// NewColors returns Colors. If on is false, its functions do not change the text.
func NewColors(on bool) Colors {
	paint := func(attributes ...color.Attribute) func(a ...any) string {
		c := color.New(attributes...)
		if on {
			c.EnableColor()
		} else {
			c.DisableColor()
		}
		return c.SprintFunc()
	}
	return Colors{
		Strong: paint(color.Bold), Quiet: paint(color.FgHiBlack), Good: paint(color.FgGreen),
		Bad: paint(color.FgRed), Warn: paint(color.FgYellow), Info: paint(color.FgCyan),
		StrongGood: paint(color.FgGreen, color.Bold), StrongBad: paint(color.FgRed, color.Bold), StrongWarn: paint(color.FgYellow, color.Bold),
	}
}
