// Operators, functions and methods of other languages, and how they are written here.

package eval

import (
	"regexp"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/graphrun/graphrun/internal/suggest"
)

// foreignFunctions maps what other languages call a function, in lower case and without
// underscores, to the function here, or to a sentence.
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

// missingFunctions says why functions of the library are not offered.
var missingFunctions = map[string]string{
	"now": "an expression must give the same result whenever it runs", "timezone": "an expression must give the same result whenever it runs",
	"date": "values are plain data, and times are strings", "duration": "values are plain data, and times are strings",
}

// findFunction returns the function that a name of any language means, or a sentence.
func findFunction(name string) (function, hint string) {
	if slices.Contains(callable(), name) {
		return name, ""
	}
	known := foreignFunctions[strings.ToLower(strings.ReplaceAll(name, "_", ""))]
	if strings.Contains(known, " ") {
		return "", known
	}
	return known, ""
}

func (c *checker) unknownFunction(name string, from, to int) *Tree {
	if reason := missingFunctions[name]; reason != "" {
		panic(errorAt(RuleName, from, to, "function %q is not available: %s", name, reason))
	}
	function, hint := findFunction(name)
	if hint != "" {
		panic(errorAt(RuleName, from, to, "unknown function %q; %s", name, hint))
	}
	if function == "" {
		function = suggest.Closest(name, callable())
	}
	panic(errorAt(RuleName, from, to, "unknown function %q", name).suggest(function))
}

// rejectMethodCall reports a call of a method and says how to write it.
func (c *checker) rejectMethodCall(call *ast.CallNode, from, to int) *Tree {
	const message = "values have no methods"
	member, _ := call.Callee.(*ast.MemberNode)
	if member == nil {
		panic(errorAt(RuleName, from, to, message))
	}
	name, ok := member.Property.(*ast.StringNode)
	if !ok {
		panic(errorAt(RuleName, from, to, message))
	}
	base := c.expr(member.Node)
	function, hint := findFunction(name.Value)
	switch {
	case function != "":
		call := function + "(" + strings.TrimSpace(c.src.text[base.from:base.to])
		end := c.src.closing(to)
		if args := strings.Trim(c.src.text[to:end], "() "); args != "" {
			call += ", " + args
		}
		call += ")"
		panic(errorAt(RuleName, base.from, max(end, to), "%s; write %s", message, call).suggest(call))
	case hint != "":
		panic(errorAt(RuleName, from, to, "%s; %s", message, hint))
	}
	panic(errorAt(RuleName, from, to, "%s, and %q is no function", message, name.Value))
}

// checkLength reports text.length.
func (c *checker) checkLength(base, key *Tree, name string) {
	isLength := name == "count" || name == "len" || foreignFunctions[name] == "len"
	if isLength && (base.Type.kind == kindString || base.Type.kind == kindList) {
		call := "len(" + strings.TrimSpace(c.src.text[base.from:base.to]) + ")"
		panic(errorAt(RuleType, base.from, key.to, "%s has no member %q: it is %s; write %s", c.quote(base), name, article(base.Type), call).suggest(call))
	}
}

// idioms are marks of other languages, and what to write there.
var idioms = map[string]string{
	"=": "==", "===": "==", "!==": "!=", "<>": "!=", "=~": "matches", "&": "and", "AND": "and", "OR": "or", "NOT": "not", "IN": "in",
	"is": "==", "is not": "!=", "is null": "== null", "is not null": "!= null",
}

// findIdiom finds the first mark of another language in a text that can't be parsed.
func findIdiom(src string) *Error {
	bare := blankStrings(src)
	if m := regexp.MustCompile(`\{\{|\$\{`).FindStringIndex(src); m != nil { // no place inside an expression
		shut := strings.Repeat("}", strings.Count(src[m[0]:m[1]], "{"))
		to := m[1]
		if i := strings.Index(src[to:], shut); i >= 0 {
			to += i + len(shut)
		}
		return syntaxAt(m[0], to, "this is an expression already; write it without %s %s", src[m[0]:m[1]], shut)
	}
	if err := findFilter(src, bare); err != nil {
		return err
	}
	marks := regexp.MustCompile(`[=!<>&~]+|(?i:\bis(\s+not)?(\s+(null|nil|none))?\b)|\b(AND|OR|NOT|IN)\b`)
	for _, m := range marks.FindAllStringIndex(bare, -1) {
		mark := src[m[0]:m[1]]
		key := mark
		if words := strings.Fields(strings.ToLower(mark)); words[0] == "is" {
			key = strings.NewReplacer("nil", "null", "none", "null").Replace(strings.Join(words, " "))
		}
		write := idioms[key]
		if write != "" && (write != "==" || !strings.Contains(bare, "let ")) { // which has a = of its own
			return syntaxAt(m[0], m[1], "%q is no operator here; write %s", mark, write).suggest(write)
		}
	}
	return nil
}

// blankStrings replaces the texts in quotes; the length stays.
func blankStrings(src string) string {
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

// findFilter recognises x | upper, the filters of Jinja and Liquid.
func findFilter(src, bare string) *Error {
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
		function, _ := findFunction(name)
		if function == "" {
			return syntaxAt(len(base), len(src), "%q is no function, and there are no filters; a function is called as upper(x)", name)
		}
		call = function + "(" + call + ")"
	}
	return syntaxAt(0, len(src), "there are no filters; a function is called, so write %s", call).suggest(call)
}
