// Functions and methods of other languages, and how they are written here.

package eval

import (
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
)

// foreignFunctions maps what other languages call a function, in lower case and without
// underscores, to the function here, or to the operator in a sentence.
var foreignFunctions = map[string]string{
	"size": "len", "length": "len", "lenght": "len", "strlen": "len", "cardinality": "len",
	"lowercase": "lower", "tolower": "lower", "tolowercase": "lower", "downcase": "lower",
	"uppercase": "upper", "toupper": "upper", "touppercase": "upper", "upcase": "upper",
	"strip": "trim", "str": "string", "tostring": "string", "format": "string", "parseint": "int", "tonumber": "int",
	"json": "fromJSON", "parsejson": "fromJSON", "loads": "fromJSON", "tojsonstring": "toJSON", "dumps": "toJSON", "stringify": "toJSON",
	"encodeuri": "urlencode", "encodeuricomponent": "urlencode", "urlescape": "urlencode", "quote": "urlencode", "escape": "urlencode", "uriencode": "urlencode",
	"some": "any", "exists": "any", "every": "all", "forall": "all",
	"startswith": "write text startsWith 'x'", "endswith": "write text endsWith 'x'",
	"contains": "write x in list, or text contains 'x'", "includes": "write x in list, or text contains 'x'", "has": "write x in list, or text contains 'x'",
	"isempty": "write len(x) == 0", "empty": "write len(x) == 0",
	"isnull": "write x == null", "isnone": "write x == null", "defined": "write x == null", "isdefined": "write x == null",
	"success": isCondition, "failure": isCondition, "cancelled": isCondition,
	"match": "write text matches 'x'", "test": "write text matches 'x'", "regex": "write text matches 'x'", "regexmatch": "write text matches 'x'",
	"coalesce": "write x ?? other", "default": "write x ?? other", "ifnull": "write x ?? other", "nvl": "write x ?? other",
}

const isCondition = "the condition of an edge says so: on_success, on_failure, always"

// foreignFunction returns the function, or the sentence, for a name of another language.
func foreignFunction(name string) (function, hint string) {
	known := foreignFunctions[strings.ToLower(strings.ReplaceAll(name, "_", ""))]
	if strings.Contains(known, " ") {
		return "", known
	}
	return known, ""
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
	function, hint := foreignFunction(name.Value)
	if slices.Contains(callable(), name.Value) {
		function, hint = name.Value, ""
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
	case hint != "":
		return c.fail(RuleName, from, to, "%s; %s", message, hint)
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
