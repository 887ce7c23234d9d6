// Operators, functions and methods of other languages, and their equivalents here.

package eval

import (
	"cmp"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/graphrun/graphrun/internal/lazyregexp"
	"github.com/graphrun/graphrun/internal/suggest"
)

// foreignFunctions maps names of functions in other languages, in lower case and without
// underscores, to the function here, or to a sentence of advice.
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
	"success": conditionHint, "failure": conditionHint, "cancelled": conditionHint,
	"match": "write text matches 'x'", "test": "write text matches 'x'", "regex": "write text matches 'x'", "regexmatch": "write text matches 'x'",
	"coalesce": "write x ?? other", "default": "write x ?? other", "ifnull": "write x ?? other", "nvl": "write x ?? other",
	"now": purityHint, "timezone": purityHint, "date": timeHint, "duration": timeHint,
}

const (
	conditionHint = "the condition of an edge says so: on_success, on_failure, always"
	purityHint    = "an expression must give the same result whenever it runs"
	timeHint      = "values are plain data, and times are strings"
)

// findFunction returns the function for its name in this or another language, or a sentence of advice.
func findFunction(name string) (function, hint string) {
	if slices.Contains(Functions(), name) {
		return name, ""
	}
	known := foreignFunctions[strings.ToLower(strings.ReplaceAll(name, "_", ""))]
	if strings.Contains(known, " ") {
		return "", known
	}
	return known, ""
}

func (c *checker) rejectFunction(name string, from, to int) *Tree {
	function, hint := findFunction(name)
	if hint != "" {
		panic(errorAt(RuleName, from, to, "unknown function %q; %s", name, hint))
	}
	suggestion := cmp.Or(function, suggest.Closest(name, Functions()))
	panic(errorAt(RuleName, from, to, "unknown function %q", name).withSuggestion(suggestion))
}

// rejectMethodCall reports a call of a method and says how to write it.
func (c *checker) rejectMethodCall(call *ast.CallNode, from, to int) *Tree {
	const message = "values have no methods"
	var name *ast.StringNode
	member, _ := call.Callee.(*ast.MemberNode)
	if member != nil {
		name, _ = member.Property.(*ast.StringNode)
	}
	if name == nil {
		panic(errorAt(RuleName, from, to, message))
	}
	base := c.checkExpr(member.Node)
	function, hint := findFunction(name.Value)
	if function == "" {
		panic(errorAt(RuleName, from, to, "%s; %s", message, cmp.Or(hint, "functions are called as upper(x)")))
	}
	end := c.src.findClosingEnd(to)
	args := strings.TrimSpace(c.src.text[base.from:base.to])
	if more := strings.Trim(c.src.text[to:end], "() "); more != "" {
		args += ", " + more
	}
	write := function + "(" + args + ")"
	panic(errorAt(RuleName, base.from, max(end, to), "%s; write %s", message, write).withSuggestion(write))
}

// rejectLengthMember reports text.length and suggests len(text).
func (c *checker) rejectLengthMember(base, key *Tree, name string) {
	isLength := name == "count" || name == "len" || foreignFunctions[name] == "len"
	if isLength && (base.Type.kind == kindString || base.Type.kind == kindList) {
		call := "len(" + strings.TrimSpace(c.src.text[base.from:base.to]) + ")"
		panic(errorAt(RuleType, base.from, key.to, "%s has no member %q: it is %s; write %s", c.quoteSource(base), name, base.Type.WithArticle(), call).withSuggestion(call))
	}
}

// idioms maps operators of other languages to the operators here.
var idioms = map[string]string{
	"=": "==", "===": "==", "!==": "!=", "<>": "!=", "=~": "matches", "&": "and", "AND": "and", "OR": "or", "NOT": "not", "IN": "in",
	"is": "==", "is not": "!=", "is null": "== null", "is not null": "!= null",
}

var (
	idiomMark    = lazyregexp.New(`[=!<>&~]+|(?i:\bis(\s+not)?(\s+(null|nil|none))?\b)|\b(AND|OR|NOT|IN)\b`)
	templateMark = lazyregexp.New(`\{\{.*?(\}\}|$)|\$\{.*?(\}|$)`)
	filterText   = lazyregexp.New(`^[^|'"]*[^|'"\s]\s*(\|\s*[A-Za-z_]\w*\s*)+$`)
)

// findIdiom returns an error about an operator of another language at the offset of a syntax error.
func findIdiom(src string, at int) *Error {
	if m := templateMark.Get().FindStringIndex(src); m != nil { // {{ and }} have no meaning inside an expression
		open := src[m[0] : m[0]+2]
		return syntaxAt(m[0], m[1], "this is an expression already; write it without %s %s", open, strings.Repeat("}", strings.Count(open, "{")))
	}
	if filterText.Get().MatchString(src) {
		parts := strings.Split(src, "|")
		call := strings.TrimSpace(parts[0])
		for _, name := range parts[1:] {
			name = strings.TrimSpace(name)
			function, _ := findFunction(name)
			call = cmp.Or(function, name) + "(" + call + ")"
		}
		return syntaxAt(0, len(src), "there are no filters; a function is called, so write %s", call).withSuggestion(call)
	}
	for _, m := range idiomMark.Get().FindAllStringIndex(src, -1) {
		mark := src[m[0]:m[1]]
		key := mark
		if words := strings.Fields(strings.ToLower(mark)); words[0] == "is" {
			key = strings.NewReplacer("nil", "null", "none", "null").Replace(strings.Join(words, " "))
		}
		isHere := m[0] <= at && strings.TrimSpace(src[min(m[1], at):at]) == ""
		if write := idioms[key]; write != "" && isHere {
			return syntaxAt(m[0], m[1], "%q is not an operator here; write %s", mark, write).withSuggestion(write)
		}
	}
	return nil
}
