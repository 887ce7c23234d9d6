// Characters that look like others or like nothing: what they are called, and
// where they spoil a file.

package spec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// oddRune is a range of characters that people don't see, or take for another: their
// name, and what to write for them.
type oddRune struct {
	from, to    rune
	name, write string
}

var oddRunes = []oddRune{
	{'\u00a0', '\u00a0', "a no-break space", " "},
	{'\u00ad', '\u00ad', "a soft hyphen", ""},
	{'\u1680', '\u1680', "a space of another script", " "},
	{'\u2000', '\u2001', "a wide space", " "},
	{'\u2002', '\u2002', "an en space", " "},
	{'\u2003', '\u2003', "an em space", " "},
	{'\u2007', '\u2007', "a figure space", " "},
	{'\u2009', '\u2009', "a thin space", " "},
	{'\u200a', '\u200a', "a hair space", " "},
	{'\u200b', '\u200b', "a zero-width space", ""},
	{'\u200c', '\u200c', "a zero-width non-joiner", ""},
	{'\u200d', '\u200d', "a zero-width joiner", ""},
	{'\u200e', '\u200e', "a left-to-right mark", ""},
	{'\u200f', '\u200f', "a right-to-left mark", ""},
	{'\u2028', '\u2028', "a line separator", " "},
	{'\u202a', '\u202e', "a direction mark", ""},
	{'\u202f', '\u202f', "a narrow no-break space", " "},
	{'\u2060', '\u2060', "a word joiner", ""},
	{'\u3000', '\u3000', "an ideographic space", " "},
	{'\ufeff', '\ufeff', "a byte order mark", ""},
	{'\u2018', '\u201a', "a typographic quote", "'"},
	{'\u201c', '\u201e', "a typographic quote", `"`},
	{'\u00ab', '\u00ab', "a typographic quote", `"`},
	{'\u00bb', '\u00bb', "a typographic quote", `"`},
	{'\u2013', '\u2013', "an en dash", "-"},
	{'\u2014', '\u2014', "an em dash", "-"},
	{'\u2212', '\u2212', "a minus sign that is no hyphen", "-"},
	{'\uff1a', '\uff1a', "a wide colon", ":"},
}

func findOdd(r rune) *oddRune {
	if r < utf8.RuneSelf {
		return nil
	}
	i := slices.IndexFunc(oddRunes, func(odd oddRune) bool { return odd.from <= r && r <= odd.to })
	if i < 0 {
		return nil
	}
	return &oddRunes[i]
}

// firstOdd is the place of the first such character of a text, -1 for none.
func firstOdd(text string) int {
	return strings.IndexFunc(text, func(r rune) bool { return findOdd(r) != nil })
}

// NameOdd gives findings about what can't be read the name and the place of the
// odd character that is to blame, where their text has one: nobody sees a
// no-break space in the source line.
func (ds Diagnostics) NameOdd() Diagnostics {
	ds.Locate()
	for i := range ds {
		d := &ds[i]
		if blamesText(d.Rule) {
			d.nameOdd()
		}
		d.Message = visible(d.Message)
	}
	return ds
}

// blamesText reports whether the findings of a rule are about the letters of
// their text.
func blamesText(rule string) bool {
	switch rule {
	case "syntax", "invalid-value", "unknown-key", "unknown-node", "unknown-state-key", "reserved-name",
		"expr-syntax", "expr-unknown-name", "unknown-tool", "unknown-model-provider", "type-mismatch":
		return true
	}
	return false
}

func (d *Diagnostic) nameOdd() {
	src := string(d.File.Src[d.Span.From:d.Span.To])
	if i := strings.IndexByte(src, '\n'); i >= 0 {
		src = src[:i]
	}
	at := firstOdd(src)
	if at < 0 || d.Rule == "syntax" && !spoils(src, at) {
		return
	}
	r, size := utf8.DecodeRuneInString(src[at:])
	odd := findOdd(r)
	write := odd.write
	if write == `"` && strings.HasPrefix(d.Rule, "expr-") {
		write = "'" // expressions often stand in double quotes themselves
	}
	say := "write " + write
	switch write {
	case "":
		say = "leave it out"
	case " ":
		say = "write a plain space"
	}
	from := d.Span.From + at
	d.Span, d.Suggestion = Span{from, from + size}, write
	d.Message += fmt.Sprintf("; there is %s (U+%04X) here: %s", odd.name, r, say)
}

// spoils reports whether the odd character of a line that can't be read may be
// why: one that nobody sees, or a quote where a value begins.
func spoils(line string, at int) bool {
	r, _ := utf8.DecodeRuneInString(line[at:])
	if write := findOdd(r).write; write == "" || write == " " {
		return true
	}
	before := strings.TrimRight(line[:at], " ")
	return findOdd(r).write != "-" && (before == "" || strings.IndexByte(":-,[{", before[len(before)-1]) >= 0)
}

// visible writes characters that nobody sees as <U+00A0>.
func visible(text string) string {
	for _, odd := range oddRunes {
		if odd.write != "" && odd.write != " " {
			continue
		}
		for r := odd.from; r <= odd.to; r++ {
			name := fmt.Sprintf("<U+%04X>", r)
			text = strings.ReplaceAll(strings.ReplaceAll(text, string(r), name), strings.Trim(strconv.QuoteRune(r), "'"), name)
		}
	}
	return text
}
