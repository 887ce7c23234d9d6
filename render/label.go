// Labels beside arrows: wrapped and shortened.

package render

import (
	"strings"
	"unicode/utf8"
)

const (
	labelWidth = 28 // characters per line
	labelLines = 4
)

// wrap breaks a text into at most labelLines lines of about labelWidth characters and
// replaces the rest by "…".
func wrap(s string) string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		word = elide(word, labelWidth+8)
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= labelWidth:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	if len(lines) > labelLines {
		lines = lines[:labelLines]
		lines[labelLines-1] += " …"
	}
	return strings.Join(lines, "\n")
}

// elide shortens a text to n characters, with "…" at the end.
func elide(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
