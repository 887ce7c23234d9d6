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
func textArg(name string, args []any, i int) (string, error) {
	if s, ok := args[i].(string); ok {
		return s, nil
	}
	return "", failf("%s needs a string, found %s", name, kindOf(args[i]))
}

// textArgs reads the first n arguments as strings.
func textArgs(name string, args []any, n int) ([]string, error) {
	out := make([]string, min(n, len(args)))
	for i := range out {
		s, err := textArg(name, args, i)
		if err != nil {
			return nil, err
		}
		out[i] = s
	}
	return out, nil
}

func built(n int) uint { return uint(n/bytesBuilt) + 1 }

func toText(args ...any) (any, uint, error) {
	switch v := args[0].(type) {
	case nil:
		return "null", 0, nil
	case []any, map[string]any:
		return toJSON(v)
	default:
		return Text(v), 0, nil
	}
}

// urlEncode escapes a value for any part of a URL: all but letters, digits and
// - . _ ~ (RFC 3986, section 2.3).
func urlEncode(args ...any) (any, uint, error) {
	switch args[0].(type) {
	case nil, []any, map[string]any:
		return nil, 0, failf("urlencode needs a string, a number or a boolean, found %s", kindOf(args[0]))
	}
	text := strings.ReplaceAll(url.QueryEscape(Text(args[0])), "+", "%20")
	return text, built(len(text)), nil
}

func trimming(name string) charged {
	return func(args ...any) (any, uint, error) {
		s, err := textArgs(name, args, 2)
		if err != nil {
			return nil, 0, err
		}
		units := uint(len(s[0])/bytesRead) + 1
		switch {
		case len(s) == 1 && name == "trim":
			return strings.TrimSpace(s[0]), units, nil
		case len(s) == 1:
			s = append(s, " ")
		}
		switch name {
		case "trimPrefix":
			return strings.TrimPrefix(s[0], s[1]), units, nil
		case "trimSuffix":
			return strings.TrimSuffix(s[0], s[1]), units, nil
		}
		return strings.Trim(s[0], s[1]), units + uint(len(s[1])), nil
	}
}

func casing(name string) charged {
	return func(args ...any) (any, uint, error) {
		s, err := textArg(name, args, 0)
		if err != nil {
			return nil, 0, err
		}
		if len(s) > budget {
			return nil, 0, errBudget
		}
		if name == "upper" {
			return strings.ToUpper(s), uint(len(s)/2 + 1), nil
		}
		return strings.ToLower(s), uint(len(s)/2 + 1), nil
	}
}

func splitText(args ...any) (any, uint, error) {
	s, err := textArgs("split", args, 2)
	if err != nil {
		return nil, 0, err
	}
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
		return nil, 0, errBudget
	}
	parts := strings.SplitN(s[0], s[1], n)
	out := make([]any, len(parts))
	for i, p := range parts {
		out[i] = p
	}
	return out, units, nil
}

func replaceText(args ...any) (any, uint, error) {
	s, err := textArgs("replace", args, 3)
	if err != nil {
		return nil, 0, err
	}
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
		return nil, 0, errBudget
	}
	return strings.Replace(s[0], s[1], s[2], n), built(size), nil
}

func repeatText(args ...any) (any, uint, error) {
	s, err := textArg("repeat", args, 0)
	if err != nil {
		return nil, 0, err
	}
	n := wholeNumber("repeat", args[1])
	if n < 0 {
		return nil, 0, failf("repeat needs a count of at least 0, found %d", n)
	}
	if len(s) > 0 && n > budget*bytesBuilt/len(s) {
		return nil, 0, errBudget
	}
	return strings.Repeat(s, n), built(len(s) * n), nil
}

func joinText(args ...any) (any, uint, error) {
	l, err := needList("join", args[0])
	if err != nil {
		return nil, 0, err
	}
	glue := ""
	if len(args) == 2 {
		if glue, err = textArg("join", args, 1); err != nil {
			return nil, 0, err
		}
	}
	parts, size := make([]string, len(l)), 0
	for i := range l {
		if parts[i], err = textArg("join", l, i); err != nil {
			return nil, 0, err
		}
		if size += len(parts[i]) + len(glue); size/bytesBuilt > budget {
			return nil, 0, errBudget
		}
	}
	return strings.Join(parts, glue), built(size) + uint(len(l)), nil
}

// indexText returns indexOf or lastIndexOf: the place in characters, or -1.
func indexText(name string) charged {
	return func(args ...any) (any, uint, error) {
		s, err := textArgs(name, args, 2)
		if err != nil {
			return nil, 0, err
		}
		at := strings.Index(s[0], s[1])
		if name == "lastIndexOf" {
			at = strings.LastIndex(s[0], s[1])
		}
		if at > 0 {
			at = utf8.RuneCountInString(s[0][:at])
		}
		return at, uint(len(s[0])/8 + 1), nil
	}
}

// startsWith is false for null: what is not there starts with nothing.
func startsWith(args ...any) (any, uint, error) { return affix("startsWith", strings.HasPrefix, args) }

func endsWith(args ...any) (any, uint, error) { return affix("endsWith", strings.HasSuffix, args) }

func affix(name string, has func(s, part string) bool, args []any) (any, uint, error) {
	if args[0] == nil || args[1] == nil {
		return false, 0, nil
	}
	s, err := textArgs(name, args, 2)
	if err != nil {
		return nil, 0, err
	}
	return has(s[0], s[1]), uint(len(s[1]) / bytesRead), nil
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

func (p *pattern) match(args ...any) (any, uint, error) {
	if args[0] == nil {
		return false, 0, nil
	}
	s, err := textArg("matches", args, 0)
	if err != nil {
		return nil, 0, err
	}
	units := uint(len(s)*p.size)/2 + 10
	if units > budget {
		return nil, 0, errBudget
	}
	return p.re.MatchString(s), units, nil
}

// matchDynamic compiles a pattern that is not written in the source.
func matchDynamic(args ...any) (any, uint, error) {
	if args[0] == nil || args[1] == nil {
		return false, 0, nil
	}
	text, err := textArg("matches", args, 1)
	if err != nil {
		return nil, 0, err
	}
	if len(text) > maxSource {
		return nil, 0, failf("pattern is %d bytes long, at most %d are allowed", len(text), maxSource)
	}
	p, err := newPattern(text)
	if err != nil {
		return nil, 0, failf("%v", err)
	}
	ok, units, err := p.match(args[0])
	return ok, units + uint(50*(len(text)+p.size)), err
}

func toJSON(args ...any) (any, uint, error) {
	size, err := treeSize(args[0], budget*bytesBuilt)
	if err != nil {
		return nil, 0, err
	}
	return encodeJSON(args[0]), built(size), nil
}

func fromJSON(args ...any) (any, uint, error) {
	s, err := textArg("fromJSON", args, 0)
	if err != nil {
		return nil, 0, err
	}
	if len(s) > budget/2 {
		return nil, 0, errBudget
	}
	v, err := decodeJSON([]byte(s))
	if err != nil {
		return nil, 0, failf("fromJSON cannot read %s", shortQuote(s))
	}
	out, err := Canonical(v)
	return out, uint(len(s)*2 + 1), err
}

func toBase64(args ...any) (any, uint, error) {
	s, err := textArg("toBase64", args, 0)
	if err != nil {
		return nil, 0, err
	}
	if len(s) > budget*bytesBuilt/2 {
		return nil, 0, errBudget
	}
	return base64.StdEncoding.EncodeToString([]byte(s)), built(len(s) * 4 / 3), nil
}

func fromBase64(args ...any) (any, uint, error) {
	s, err := textArg("fromBase64", args, 0)
	if err != nil {
		return nil, 0, err
	}
	if len(s) > budget*bytesBuilt {
		return nil, 0, errBudget
	}
	data, err := base64.StdEncoding.DecodeString(s)
	if err != nil || !utf8.Valid(data) {
		return nil, 0, failf("fromBase64 cannot read %s as text", shortQuote(s))
	}
	return string(data), built(len(s)), nil
}

// notAPattern says in one line why a pattern is no regular expression.
func notAPattern(err error) error {
	text := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
	return fmt.Errorf("pattern is no regular expression: %s", strings.ReplaceAll(text, "\n", `\n`))
}
