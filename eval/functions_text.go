// Functions on strings, regular expressions and JSON.

package eval

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// textArg reads argument i as a string.
func textArg(name string, args []any, i int) string { return need[string](name, "a string", args[i]) }

// textArgs reads the first n arguments as strings.
func textArgs(name string, args []any, n int) []string {
	out := make([]string, min(n, len(args)))
	for i := range out {
		out[i] = textArg(name, args, i)
	}
	return out
}

func built(n int) uint { return uint(n/bytesBuilt) + 1 }

func toText(args ...any) (any, uint) {
	switch v := args[0].(type) {
	case nil:
		return "null", 0
	case []any, map[string]any:
		return toJSON(v)
	default:
		return Text(v), 0
	}
}

// urlEncode escapes a value for any part of a URL: all but letters, digits and
// - . _ ~ (RFC 3986, section 2.3).
func urlEncode(args ...any) (any, uint) {
	switch args[0].(type) {
	case nil, []any, map[string]any:
		panic(failf("urlencode needs a string, a number or a boolean, found %s", kindOf(args[0])))
	}
	text := strings.ReplaceAll(url.QueryEscape(Text(args[0])), "+", "%20")
	return text, built(len(text))
}

func trimming(name string, trim func(s, cut string) string) operation {
	return func(args ...any) (any, uint) {
		s := textArgs(name, args, 2)
		units := uint(len(s[0])/bytesRead) + 1
		switch {
		case len(s) == 1 && name == "trim":
			return strings.TrimSpace(s[0]), units
		case len(s) == 1:
			return trim(s[0], " "), units
		}
		return trim(s[0], s[1]), units + uint(len(s[1]))
	}
}

func casing(name string, change func(string) string) operation {
	return func(args ...any) (any, uint) {
		s := textArg(name, args, 0)
		if len(s) > budget {
			panic(errBudget)
		}
		return change(s), uint(len(s)/2 + 1)
	}
}

func splitText(args ...any) (any, uint) {
	s := textArgs("split", args, 2)
	n := -1
	if len(args) == 3 {
		n = wholeNumber("split", args[2])
	}
	count := strings.Count(s[0], s[1]) + 1
	if n >= 0 {
		count = min(count, n)
	}
	units := uint(count*4 + len(s[0])/bytesRead)
	if units > budget {
		panic(errBudget)
	}
	parts := strings.SplitN(s[0], s[1], n)
	out := make([]any, len(parts))
	for i, p := range parts {
		out[i] = p
	}
	return out, units
}

func replaceText(args ...any) (any, uint) {
	s := textArgs("replace", args, 3)
	n := -1
	if len(args) == 4 {
		n = wholeNumber("replace", args[3])
	}
	count := strings.Count(s[0], s[1])
	if n >= 0 {
		count = min(count, n)
	}
	size := len(s[0]) + count*max(0, len(s[2])-len(s[1]))
	if size/bytesBuilt > budget {
		panic(errBudget)
	}
	return strings.Replace(s[0], s[1], s[2], n), built(size)
}

func repeatText(args ...any) (any, uint) {
	s := textArg("repeat", args, 0)
	n := wholeNumber("repeat", args[1])
	if n < 0 {
		panic(failf("repeat needs a count of at least 0, found %d", n))
	}
	if len(s) > 0 && n > budget*bytesBuilt/len(s) {
		panic(errBudget)
	}
	return strings.Repeat(s, n), built(len(s) * n)
}

func joinText(args ...any) (any, uint) {
	l := needList("join", args[0])
	glue := ""
	if len(args) == 2 {
		glue = textArg("join", args, 1)
	}
	parts, size := make([]string, len(l)), 0
	for i := range l {
		parts[i] = textArg("join", l, i)
		if size += len(parts[i]) + len(glue); size/bytesBuilt > budget {
			panic(errBudget)
		}
	}
	return strings.Join(parts, glue), built(size) + uint(len(l))
}

// indexText returns indexOf or lastIndexOf: the place in characters, or -1.
func indexText(name string, index func(s, part string) int) operation {
	return func(args ...any) (any, uint) {
		s := textArgs(name, args, 2)
		at := index(s[0], s[1])
		if at > 0 {
			at = utf8.RuneCountInString(s[0][:at])
		}
		return at, uint(len(s[0])/8 + 1)
	}
}

// startsWith is false for null: what is not there starts with nothing.
func startsWith(args ...any) (any, uint) { return affix("startsWith", strings.HasPrefix, args) }

func endsWith(args ...any) (any, uint) { return affix("endsWith", strings.HasSuffix, args) }

func affix(name string, has func(s, part string) bool, args []any) (any, uint) {
	if args[0] == nil || args[1] == nil {
		return false, 0
	}
	s := textArgs(name, args, 2)
	return has(s[0], s[1]), uint(len(s[1]) / bytesRead)
}

// pattern is a regular expression whose matching time is known: the length of
// the text times the size of its program.
type pattern struct {
	re   *regexp.Regexp
	size int
}

func newPattern(text string) (*pattern, error) {
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, notAPattern(err)
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, notAPattern(err)
	}
	if len(prog.Inst) > maxRegexpSize {
		return nil, fmt.Errorf("pattern is too large: %d instructions, at most %d are allowed", len(prog.Inst), maxRegexpSize)
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, notAPattern(err)
	}
	return &pattern{re: re, size: len(prog.Inst)}, nil
}

// matchValue is a matches b, where b is a string or, for one that is written in the
// source, its *pattern.
func matchValue(args ...any) (any, uint) {
	if args[0] == nil || args[1] == nil {
		return false, 0
	}
	p, isConstant := args[1].(*pattern)
	compiled := uint(0)
	if !isConstant {
		text := textArg("matches", args, 1)
		if len(text) > maxSource {
			panic(failf("pattern is %d bytes long, at most %d are allowed", len(text), maxSource))
		}
		var err error
		if p, err = newPattern(text); err != nil {
			panic(failf("%v", err))
		}
		compiled = uint(50 * (len(text) + p.size))
	}
	s := textArg("matches", args, 0)
	units := uint(len(s)*p.size)/2 + 10
	if units > budget {
		panic(errBudget)
	}
	return p.re.MatchString(s), units + compiled
}

func toJSON(args ...any) (any, uint) {
	size, err := treeSize(args[0], budget*bytesBuilt)
	if err != nil {
		panic(err)
	}
	return encodeJSON(args[0]), built(size)
}

func fromJSON(args ...any) (any, uint) {
	s := textArg("fromJSON", args, 0)
	if len(s) > budget/2 {
		panic(errBudget)
	}
	out, err := ParseJSON([]byte(s))
	if err != nil {
		panic(failf("fromJSON cannot read %s", shortQuote(s)))
	}
	return out, uint(len(s)*2 + 1)
}

func toBase64(args ...any) (any, uint) {
	s := textArg("toBase64", args, 0)
	if len(s) > budget*bytesBuilt/2 {
		panic(errBudget)
	}
	return base64.StdEncoding.EncodeToString([]byte(s)), built(len(s) * 4 / 3)
}

func fromBase64(args ...any) (any, uint) {
	s := textArg("fromBase64", args, 0)
	if len(s) > budget*bytesBuilt {
		panic(errBudget)
	}
	data, err := base64.StdEncoding.DecodeString(s)
	if err != nil || !utf8.Valid(data) {
		panic(failf("fromBase64 cannot read %s as text", shortQuote(s)))
	}
	return string(data), built(len(s))
}

// notAPattern says in one line why a pattern is no regular expression.
func notAPattern(err error) error {
	text := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
	return fmt.Errorf("pattern is no regular expression: %s", strings.ReplaceAll(text, "\n", `\n`))
}
