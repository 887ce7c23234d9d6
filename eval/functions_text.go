// Functions that read or write text: strings, regular expressions, JSON.

package eval

import (
	"encoding/base64"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode/utf8"
)

// toInt truncates a number to an integer, or parses an integer from a string.
func toInt(_ *frame, a []any) any {
	switch v := a[0].(type) {
	case float64:
		if math.Abs(v) > maxInt {
			panic(errTooBig)
		}
		return int(v)
	case string:
		n, err := strconv.Atoi(strings.TrimSpace(v))
		if err != nil || n > maxInt || n < -maxInt {
			panic(fmt.Errorf("int cannot read %s", quoteShort(v)))
		}
		return n
	}
	return a[0]
}

func toFloat(_ *frame, a []any) any {
	s, isText := a[0].(string)
	if !isText {
		n, _ := Number(a[0])
		return n
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		panic(fmt.Errorf("float cannot read %s", quoteShort(s)))
	}
	return n
}

func quoteShort(s string) string { return strconv.Quote(Shorten(s, 40)) }

func toText(f *frame, a []any) any {
	switch a[0].(type) {
	case []any, map[string]any:
		return toJSON(f, a) // which charges for the text
	}
	return ResultText(a[0])
}

// urlEncode escapes a value for any part of a URL. It escapes all characters except letters, digits
// and - . _ ~ (RFC 3986, section 2.3).
func urlEncode(f *frame, a []any) any {
	text := strings.ReplaceAll(url.QueryEscape(Text(a[0])), "+", "%20")
	f.spendText(len(text))
	return text
}

func trimText(f *frame, a []any) any {
	if len(a) == 2 {
		f.spendRead(len(a[0].(string)) * len(a[1].(string))) // each character is looked up in the set
		return newTrim(strings.Trim)(f, a)
	}
	s := a[0].(string)
	f.spendRead(len(s))
	return strings.TrimSpace(s)
}

// newTrim returns a function that removes a text, by default spaces, from the ends of a string.
func newTrim(trim func(s, cut string) string) operation {
	return func(f *frame, a []any) any {
		s, cut := a[0].(string), " "
		if len(a) == 2 {
			cut = a[1].(string)
		}
		f.spendRead(len(s) + len(cut))
		return trim(s, cut)
	}
}

// newTextChange returns a function that changes a string. One unit pays for some bytes of the string.
func newTextChange(bytes int, change func(string) string) operation {
	return func(f *frame, a []any) any {
		s := a[0].(string)
		f.spend(len(s) / bytes)
		return change(s)
	}
}

// readLimit returns the limit in argument i, at most most. A negative limit means most.
func readLimit(name string, a []any, i, most int) int {
	if i < len(a) {
		if n := wholeNumber(name, a[i]); n >= 0 {
			return min(n, most)
		}
	}
	return most
}

func splitText(f *frame, a []any) any {
	s, by := a[0].(string), a[1].(string)
	n := readLimit("split", a, 2, strings.Count(s, by)+1)
	f.spendRead(len(s))
	f.spend(n * 4)
	parts := strings.SplitN(s, by, n)
	out := make([]any, len(parts))
	for i, part := range parts {
		out[i] = part
	}
	return out
}

func replaceText(f *frame, a []any) any {
	s, old, with := a[0].(string), a[1].(string), a[2].(string)
	n := readLimit("replace", a, 3, strings.Count(s, old))
	f.spendText(len(s) + n*max(0, len(with)-len(old)))
	return strings.Replace(s, old, with, n)
}

func repeatText(f *frame, a []any) any {
	s, n := a[0].(string), wholeNumber("repeat", a[1])
	if n < 0 {
		panic(fmt.Errorf("repeat needs a count of at least 0, found %d", n))
	}
	if len(s) > 0 && n > budget*bytesBuilt/len(s) {
		panic(errBudget)
	}
	f.spendText(len(s) * n)
	return strings.Repeat(s, n)
}

func joinText(f *frame, a []any) any {
	l, glue := a[0].([]any), ""
	if len(a) == 2 {
		glue = a[1].(string)
	}
	parts := make([]string, len(l))
	for i := range l {
		parts[i] = requireType[string]("join", l[i])
		f.spendText(len(parts[i]) + len(glue))
	}
	return strings.Join(parts, glue)
}

// newIndexSearch returns the function indexOf or lastIndexOf, which counts characters.
func newIndexSearch(index func(s, part string) int) operation {
	return func(f *frame, a []any) any {
		s := a[0].(string)
		f.spend(len(s) / 8)
		at := index(s, a[1].(string))
		if at > 0 {
			at = utf8.RuneCountInString(s[:at])
		}
		return at
	}
}

// pattern is a regular expression with the size of its program. The time of a match is proportional to
// the size times the length of the text.
type pattern struct {
	re   *regexp.Regexp
	size int
}

func newPattern(text string) (*pattern, error) {
	re, err := regexp.Compile(text)
	if err != nil {
		reason := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
		return nil, fmt.Errorf("pattern is not a regular expression: %s", strings.ReplaceAll(reason, "\n", `\n`))
	}
	parsed, _ := syntax.Parse(text, syntax.Perl)
	prog, _ := syntax.Compile(parsed.Simplify())
	if len(prog.Inst) > maxRegexpSize {
		return nil, fmt.Errorf("pattern is too large: %d instructions, at most %d are allowed", len(prog.Inst), maxRegexpSize)
	}
	return &pattern{re: re, size: len(prog.Inst)}, nil
}

// matchValue implements a matches b. b is a string, or the *pattern of a constant string.
func matchValue(f *frame, a, b any) any {
	if a == nil || b == nil {
		return false
	}
	p, isConstant := b.(*pattern)
	if !isConstant {
		text := requireType[string]("matches", b)
		if len(text) > maxSource {
			panic(fmt.Errorf("pattern is %d bytes long, at most %d are allowed", len(text), maxSource))
		}
		var err error
		if p, err = newPattern(text); err != nil {
			panic(err)
		}
		f.spend(50 * (len(text) + p.size))
	}
	s := requireType[string]("matches", a)
	f.spend(len(s)*p.size/2 + 10)
	return p.re.MatchString(s)
}

func toJSON(f *frame, a []any) any {
	size, err := treeSize(a[0], budget*bytesBuilt)
	if err != nil {
		panic(err)
	}
	f.spendText(size)
	return encodeJSON(a[0])
}

func fromJSON(f *frame, a []any) any {
	s := a[0].(string)
	f.spend(len(s) * 2)
	out, err := ParseJSON([]byte(s))
	if err != nil {
		panic(fmt.Errorf("fromJSON cannot read %s", quoteShort(s)))
	}
	return out
}

func toBase64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func fromBase64(f *frame, a []any) any {
	s := a[0].(string)
	f.spendText(len(s))
	data, err := base64.StdEncoding.DecodeString(s)
	if err != nil || !utf8.Valid(data) {
		panic(fmt.Errorf("fromBase64 cannot read %s as text", quoteShort(s)))
	}
	return string(data)
}
