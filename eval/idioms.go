// Operators of other languages, and how they are written here.

package eval

import (
	"fmt"
	"regexp"
	"strings"
)

// idiom finds the first operator of another language in a text that can't be parsed.
func idiom(text *source) *Error {
	bare := withoutTexts(text.text)
	if err := filtered(text.text, bare); err != nil {
		return err
	}
	var first *Error
	for _, i := range idioms {
		at := regexp.MustCompile(i.pattern).FindStringSubmatchIndex(bare)
		if at == nil || i.write == "==" && strings.Contains(bare, "let ") { // which has a = of its own
			continue
		}
		from, to := at[2], at[3]
		if first != nil && (first.From < from || first.From == from && first.To >= to) {
			continue
		}
		first = &Error{
			Rule: RuleSyntax, From: from, To: to, Suggestion: i.write,
			Message: fmt.Sprintf("%q is no operator here; write %s", text.text[from:to], i.write),
		}
	}
	return first
}

// idioms are patterns, whose first group is the mark, and what to write there.
var idioms = []struct{ pattern, write string }{
	{`(?i)\b(is\s+not\s+(?:null|nil|none))\b`, "!= null"},
	{`(?i)\b(is\s+(?:null|nil|none))\b`, "== null"},
	{`(?i)\b(is\s+not)\b`, "!="},
	{`(?i)[\w)\]'"]\s+(is)\s+[\w(\['"]`, "=="},
	{`(=~)`, "matches"},
	{`[^!<>=](=)[^=~]`, "=="},
	{`(===)`, "=="},
	{`(!==)`, "!="},
	{`(<>)`, "!="},
	{`[^&](&)[^&]`, "and"},
	{`\b(AND)\b`, "and"},
	{`\b(OR)\b`, "or"},
	{`\b(NOT)\b`, "not"},
	{`\b(IN)\b`, "in"},
}

// withoutTexts blanks the texts in quotes; the length stays.
func withoutTexts(src string) string {
	out := []byte(src)
	for i := 0; i < len(src); {
		if strings.IndexByte("'\"`", src[i]) < 0 {
			i++
			continue
		}
		end, closed := skipOpaque(src, i)
		if !closed {
			break
		}
		for k := i + 1; k < end-1; k++ {
			out[k] = '_'
		}
		i = end
	}
	return string(out)
}

// filtered recognises x | upper, the filters of Jinja and Liquid.
func filtered(src, bare string) *Error {
	parts := strings.Split(bare, "|")
	base := strings.TrimRight(src[:len(parts[0])], " ")
	call := strings.TrimSpace(base)
	if len(parts) < 2 || call == "" {
		return nil
	}
	for _, part := range parts[1:] {
		name := strings.TrimSpace(part)
		if !regexp.MustCompile(`^[A-Za-z_]\w*$`).MatchString(name) {
			return nil
		}
		function, _ := foreignFunction(name)
		if _, ok := functions[name]; ok {
			function = name
		}
		if function == "" {
			return &Error{
				Rule: RuleSyntax, From: len(base), To: len(src),
				Message: fmt.Sprintf("%q is no function, and there are no filters; a function is called as upper(x)", name),
			}
		}
		call = function + "(" + call + ")"
	}
	return &Error{
		Rule: RuleSyntax, To: len(src), Suggestion: call,
		Message: fmt.Sprintf("there are no filters; a function is called, so write %s", call),
	}
}

// lengthOf recognises text.length.
func (c *checker) lengthOf(base, key *Tree, name string) bool {
	switch name {
	case "length", "len", "size", "count":
	default:
		return false
	}
	if c.err != nil || base.Type.kind != kindString && base.Type.kind != kindList {
		return false
	}
	call := "len(" + strings.TrimSpace(c.src.text[base.from:base.to]) + ")"
	c.err = &Error{
		Rule: RuleType, From: base.from, To: key.to, Suggestion: call,
		Message: fmt.Sprintf("%s has no member %q: it is %s; write %s", c.quote(base), name, article(base.Type), call),
	}
	return true
}
