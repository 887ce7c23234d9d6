// What other languages write, and how it is written here.

package eval

import (
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
)

// functionElsewhere is the function or the notation for what other languages
// have by a name; "" when there is none.
func functionElsewhere(name string) (function, say string) {
	switch strings.ToLower(strings.ReplaceAll(name, "_", "")) {
	case "size", "length", "lenght", "strlen", "cardinality":
		return "len", ""
	case "lowercase", "tolower", "tolowercase", "downcase":
		return "lower", ""
	case "uppercase", "toupper", "touppercase", "upcase":
		return "upper", ""
	case "strip":
		return "trim", ""
	case "str", "tostring", "format":
		return "string", ""
	case "parseint", "tonumber":
		return "int", ""
	case "json", "parsejson", "loads":
		return "fromJSON", ""
	case "tojsonstring", "dumps", "stringify":
		return "toJSON", ""
	case "encodeuri", "encodeuricomponent", "urlescape", "quote", "escape", "uriencode":
		return "urlencode", ""
	case "some", "exists":
		return "any", ""
	case "every", "forall":
		return "all", ""
	case "startswith":
		return "", "write text startsWith 'x'"
	case "endswith":
		return "", "write text endsWith 'x'"
	case "contains", "includes", "has":
		return "", "write x in list, or text contains 'x'"
	case "isempty", "empty":
		return "", "write len(x) == 0"
	case "isnull", "isnone", "defined", "isdefined":
		return "", "write x == null"
	case "success", "failure", "cancelled":
		return "", "the condition of an edge says so: on_success, on_failure, always"
	case "match", "test", "regex", "regexmatch":
		return "", "write text matches 'x'"
	case "coalesce", "default", "ifnull", "nvl":
		return "", "write x ?? other"
	}
	return "", ""
}

// noMethods reports a call of a method and says how to write it.
func (c *checker) noMethods(call *ast.CallNode, from, to int) *Tree {
	const message = "values have no methods"
	member, ok := call.Callee.(*ast.MemberNode)
	if !ok {
		return c.fail(RuleName, from, to, message)
	}
	name, ok := member.Property.(*ast.StringNode)
	if !ok {
		return c.fail(RuleName, from, to, message)
	}
	base := c.expr(member.Node)
	if c.err != nil {
		return unknown(from, to)
	}
	function, say := functionElsewhere(name.Value)
	if slices.Contains(callable(), name.Value) {
		function, say = name.Value, ""
	}
	switch {
	case function != "":
		call := function + "(" + strings.TrimSpace(c.src.text[base.from:base.to])
		end := c.src.closing(to)
		if args := strings.Trim(c.src.text[to:end], "() "); args != "" {
			call += ", " + args
		}
		out := c.fail(RuleName, base.from, max(end, to), "%s; write %s)", message, call)
		c.err.Suggestion = call + ")"
		return out
	case say != "":
		return c.fail(RuleName, from, to, "%s; %s", message, say)
	}
	return c.fail(RuleName, from, to, "%s, and %q is no function", message, name.Value)
}

// braces finds {{ or ${, which have no place inside an expression.
func braces(text *source) *Error {
	for _, mark := range []string{"{{", "${"} {
		from := strings.Index(text.text, mark)
		if from < 0 {
			continue
		}
		to := from + len(mark)
		shut := strings.Repeat("}", strings.Count(mark, "{"))
		if i := strings.Index(text.text[to:], shut); i >= 0 {
			to += i + len(shut)
		}
		return &Error{Rule: RuleSyntax, From: from, To: to, Message: fmt.Sprintf("this is an expression already; write it without %s %s", mark, shut)}
	}
	return nil
}
