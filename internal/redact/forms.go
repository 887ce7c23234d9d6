// Package redact lists the encodings in which a secret may appear.
package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/graphrun/graphrun/eval"
)

// Mask replaces a secret.
const Mask = "***"

// Least is the minimum length of a secret in characters. Shorter secrets would be found inside other text.
const Least = 4

// minEncoded is the minimum length of a base64 form.
const minEncoded = 8

// Refusal returns why a text can't be a secret, or "".
func Refusal(secret string) string {
	n := utf8.RuneCountInString(secret)
	switch {
	case n == 0:
		return "is empty"
	case n >= Least:
		return ""
	}
	return fmt.Sprintf("has %s; at least %d are needed: what is shorter stands in other texts too, and can't be masked in them", eval.Count(n, "character"), Least)
}

// IsWord reports whether a text looks like a name. Such secrets are not masked inside object keys.
func IsWord(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '_' && r != '-'
	}) < 0
}

// minLine is the minimum length of a line of a multi-line secret that is masked on its own.
const minLine = 16

// Forms returns the forms of a text, each once: plain, quoted once or twice, in HTML, in a URL
// and in a URL inside a URL, in base64 and in hexadecimal. It also returns the long lines of the text.
func Forms(text string) []string {
	inMarkup := markup.Replace(text)
	out := slices.Concat(quotedForms(text), base64Forms(text), hexForms(text))
	out = append(out, text, html.EscapeString(text), inMarkup, strings.ReplaceAll(inMarkup, "&quot;", "&#34;"))
	for _, form := range quotedForms(text) {
		out = append(out, quotedForms(form)...)
	}
	for _, form := range percentForms(text) {
		out = append(out, form, url.QueryEscape(form))
	}
	if lines := strings.Split(text, "\n"); len(lines) > 1 {
		for _, line := range lines {
			if line = strings.TrimSpace(line); len(line) >= minLine && !strings.Contains(line, " ") {
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
	for _, format := range []string{"%x", "%X", "% x", "% X"} {
		digits := fmt.Sprintf(format, text)
		out = append(out, digits, strings.ReplaceAll(digits, " ", ":"))
	}
	return out
}

// quotedForms returns the forms of a text inside quotes.
func quotedForms(text string) []string {
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

const alphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// percentForms returns the forms of a text in a URL. Writers differ in the characters that they
// escape and in the case of digits.
func percentForms(text string) []string {
	whole := url.URL{Path: "/" + text}
	out := []string{url.QueryEscape(text), url.PathEscape(text), whole.EscapedPath()[1:]}
	for _, safe := range []string{"", alphanumeric + "-._~", alphanumeric + "-._~/", alphanumeric + "-._~!'()*"} {
		var b strings.Builder
		for _, c := range []byte(text) {
			if strings.IndexByte(safe, c) >= 0 {
				b.WriteByte(c)
			} else {
				fmt.Fprintf(&b, "%%%02X", c)
			}
		}
		out = append(out, b.String())
	}
	escape := regexp.MustCompile(`%[0-9A-F]{2}`)
	for _, form := range out {
		out = append(out, escape.ReplaceAllStringFunc(form, strings.ToLower))
	}
	return out
}

// base64Forms returns a text in base64, alone or inside other text. Three bytes are four
// characters, so there are three alignments. Characters with bits of neighbours are omitted.
func base64Forms(text string) []string {
	var out []string
	for before := range 3 {
		padded := append(make([]byte, before), text...)
		from, to := (before*8+5)/6, len(padded)*8/6
		if to-from < minEncoded {
			continue
		}
		for _, encoding := range [...]*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			out = append(out, encoding.EncodeToString(padded)[from:to])
		}
	}
	// Alone, with the line breaks of `base64` and PEM.
	whole := base64.StdEncoding.EncodeToString([]byte(text))
	for _, width := range [...]int{64, 76} {
		if len(whole) > width {
			lines := slices.Collect(slices.Chunk([]byte(whole), width))
			out = append(out, string(bytes.Join(lines, []byte("\n"))), string(bytes.Join(lines, []byte("\r\n"))))
		}
	}
	return out
}
