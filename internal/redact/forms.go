// Package redact lists the encodings in which a secret may appear.
package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Mask replaces a secret.
const Mask = "***"

// Least is the minimum length of a secret in characters. Shorter texts appear in other text.
const Least = 4

// leastEncoded is the minimum length of a base64 form.
const leastEncoded = 8

// Refusal says why a text can't be a secret, or returns "".
func Refusal(secret string) string {
	switch n := utf8.RuneCountInString(secret); {
	case n == 0:
		return "is empty"
	case n == 1:
		return fmt.Sprintf("has 1 character; at least %d are needed: what is shorter stands in other texts too, and can't be masked in them", Least)
	case n < Least:
		return fmt.Sprintf("has %d characters; at least %d are needed: what is shorter stands in other texts too, and can't be masked in them", n, Least)
	}
	return ""
}

// Word reports whether a text looks like a name. Such secrets are not masked inside object keys.
func Word(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '_' && r != '-'
	}) < 0
}

// leastLine is the minimum length of a line of a multi-line secret that is masked by itself.
const leastLine = 16

// Forms returns the forms of a text, each once: plain, quoted once or twice, in HTML, in a URL
// and in a URL inside a URL, in base64 and in hexadecimal; and its long lines.
func Forms(text string) []string {
	out := append(quoted(text), text, markup.Replace(text), strings.ReplaceAll(markup.Replace(text), "&quot;", "&#34;"))
	out = append(out, html.EscapeString(text))
	for _, form := range quoted(text) {
		out = append(out, quoted(form)...)
	}
	for _, form := range percent(text) {
		out = append(out, form, url.QueryEscape(form))
	}
	out = append(out, base64Forms(text)...)
	out = append(out, hexForms(text)...)
	if lines := strings.Split(text, "\n"); len(lines) > 1 {
		for _, line := range lines {
			if line = strings.TrimSpace(line); len(line) >= leastLine && !strings.Contains(line, " ") {
				out = append(out, line)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// markup escapes like most HTML writers; package html escapes quotes differently.
var markup = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#x27;")

// hexForms returns a text in hexadecimal, plain and grouped as in dumps.
func hexForms(text string) (out []string) {
	digits := hex.EncodeToString([]byte(text))
	for _, between := range []string{"", " ", ":"} {
		var b strings.Builder
		for i := 0; i < len(digits); i += 2 {
			if i > 0 {
				b.WriteString(between)
			}
			b.WriteString(digits[i : i+2])
		}
		out = append(out, b.String(), strings.ToUpper(b.String()))
	}
	return out
}

// quoted returns the forms of a text inside quotes.
func quoted(text string) []string {
	inner := func(quoted string) string { return quoted[1 : len(quoted)-1] }
	out := []string{inner(strconv.Quote(text)), inner(strconv.QuoteToASCII(text))}
	if asJSON, err := json.Marshal(text); err == nil {
		out = append(out, inner(string(asJSON)))
	}
	// Single quotes of Python and JavaScript, YAML, and shells.
	single := strings.ReplaceAll(out[0], `\"`, `"`)
	return append(out, single, strings.ReplaceAll(single, "'", `\'`),
		strings.ReplaceAll(text, "'", "''"), strings.ReplaceAll(text, "'", `'\''`), strings.ReplaceAll(text, "'", `'"'"'`))
}

// percent returns the forms of a text in a URL. Writers differ in the characters that they
// escape and in the case of digits.
func percent(text string) []string {
	whole := url.URL{Path: "/" + text}
	out := []string{url.QueryEscape(text), url.PathEscape(text), whole.EscapedPath()[1:]}
	for _, safe := range []string{"-._~", "-._~/", "-._~!'()*"} {
		out = append(out, escaped(text, func(c byte) bool { return alphanumeric(c) || strings.IndexByte(safe, c) >= 0 }))
	}
	out = append(out, escaped(text, func(byte) bool { return false }))
	for _, form := range out {
		out = append(out, lowerEscapes(form))
	}
	return out
}

func alphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

func escaped(text string, safe func(byte) bool) string {
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; safe(c) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// lowerEscapes converts the digits of escapes to lower case.
func lowerEscapes(text string) string {
	b := []byte(text)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], strings.ToLower(string(b[i+1:i+3])))
			i += 2
		}
	}
	return string(b)
}

// base64Forms returns a text in base64, alone or inside other text. Three bytes are four
// characters, so there are three alignments. Characters with bits of neighbours are omitted.
func base64Forms(text string) []string {
	var out []string
	for before := range 3 {
		bytes := append(make([]byte, before), text...)
		from, to := (before*8+5)/6, len(bytes)*8/6
		if to-from < leastEncoded {
			continue
		}
		for _, encoding := range [...]*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			out = append(out, encoding.EncodeToString(bytes)[from:to])
		}
	}
	// Alone, with the line breaks of `base64` and PEM.
	whole := base64.StdEncoding.EncodeToString([]byte(text))
	for _, width := range [...]int{64, 76} {
		if len(whole) > width {
			out = append(out, broken(whole, width, "\n"), broken(whole, width, "\r\n"))
		}
	}
	return out
}

// broken breaks a text into lines of a width.
func broken(text string, width int, end string) string {
	var b strings.Builder
	for ; len(text) > width; text = text[width:] {
		b.WriteString(text[:width] + end)
	}
	return b.String() + text
}
