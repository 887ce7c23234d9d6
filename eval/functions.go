// The functions that expressions may call: all pure and deterministic.

package eval

import (
	"fmt"
	"slices"
)

// function describes one function. Arguments beyond params are like the last.
type function struct {
	min, max int
	params   [][]kind // allowed kinds per argument; empty is any
	result   Type
	infer    func(args []operand) Type // overrides result
	bounded  bool                      // its integers never exceed 2^61
	run      charged
}

const many = 100

func (f function) param(i int) []kind {
	if len(f.params) == 0 {
		return nil
	}
	return f.params[min(i, len(f.params)-1)]
}

func (f function) arity() string {
	switch {
	case f.max == many:
		return fmt.Sprintf("at least %s", plural(f.min, "argument"))
	case f.min == f.max:
		return plural(f.min, "argument")
	}
	return fmt.Sprintf("%d to %d arguments", f.min, f.max)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// functionNames are all names that findFunction knows, sorted.
func functionNames() []string {
	return []string{
		"abs", "ceil", "concat", "first", "flatten", "float", "floor", "fromBase64", "fromJSON", "fromPairs",
		"get", "hasPrefix", "hasSuffix", "indexOf", "int", "join", "keys", "last", "lastIndexOf", "len",
		"lower", "max", "mean", "median", "min", "repeat", "replace", "reverse", "round", "sort", "split",
		"string", "take", "toBase64", "toJSON", "toPairs", "trim", "trimPrefix", "trimSuffix", "type",
		"uniq", "upper", "urlencode", "values",
	}
}

// missingFunction says why a function of the library is not offered.
func missingFunction(name string) string {
	switch name {
	case "now", "timezone":
		return "an expression must give the same result whenever it runs"
	case "date", "duration":
		return "values are plain data, and times are strings"
	case "bitand", "bitnand", "bitnot", "bitor", "bitshl", "bitshr", "bitushr", "bitxor", "splitAfter":
		return "it is not part of the language"
	}
	return ""
}

func findFunction(name string) (function, bool) {
	text, number := []kind{kindString}, []kind{kindFloat}
	aList, object := []kind{kindList}, []kind{kindObject}
	if f, ok := textFunction(name, text, number); ok {
		return f, true
	}
	elem := func(args []operand) Type { return args[0].typ.item() }
	same := func(args []operand) Type { return args[0].typ }
	numberOf := func(args []operand) Type {
		if len(args) == 1 && args[0].typ.kind == kindInt {
			return Int()
		}
		return Float()
	}
	switch name {
	case "abs":
		return function{1, 1, [][]kind{number}, Type{}, numberOf, true, absValue}, true
	case "ceil", "floor", "round":
		return function{1, 1, [][]kind{number}, Int(), nil, true, rounding(name)}, true
	case "int":
		return function{1, 1, [][]kind{{kindFloat, kindString}}, Int(), nil, true, toInt}, true
	case "float":
		return function{1, 1, [][]kind{{kindFloat, kindString}}, Float(), nil, true, toFloat}, true
	case "max", "min":
		return function{1, many, [][]kind{{kindFloat, kindList}}, Float(), nil, false, extreme(name)}, true
	case "mean", "median":
		return function{1, many, [][]kind{{kindFloat, kindList}}, Float(), nil, true, average(name)}, true
	case "len":
		return function{1, 1, [][]kind{{kindString, kindList, kindObject}}, Int(), nil, true, lenValue}, true
	case "type":
		return function{1, 1, nil, String(), nil, true, typeName}, true
	case "get":
		return function{2, 2, nil, Any(), nil, false, getMember}, true
	case "first", "last":
		return function{1, 1, [][]kind{aList}, Type{}, elem, false, endOf(name)}, true
	case "take":
		return function{2, 2, [][]kind{aList, number}, Type{}, same, false, takeValues}, true
	case "keys":
		return function{1, 1, [][]kind{object}, List(String()), nil, true, keysOf}, true
	case "values":
		return function{1, 1, [][]kind{object}, List(Any()), nil, false, valuesOf}, true
	case "toPairs":
		return function{1, 1, [][]kind{object}, List(List(Any())), nil, false, toPairs}, true
	case "fromPairs":
		return function{1, 1, [][]kind{aList}, Object(nil, true), nil, false, fromPairs}, true
	case "reverse":
		return function{1, 1, [][]kind{aList}, Type{}, same, false, reverseValues}, true
	case "uniq":
		return function{1, 1, [][]kind{aList}, Type{}, same, false, uniqValues}, true
	case "sort":
		return function{1, 2, [][]kind{aList, text}, Type{}, same, false, sortValues}, true
	case "flatten":
		return function{1, 1, [][]kind{aList}, List(Any()), nil, false, flattenValues}, true
	case "concat":
		return function{1, many, [][]kind{aList}, Type{}, joinAll, false, concatValues}, true
	}
	return function{}, false
}

// textFunction are the functions on and to strings.
func textFunction(name string, text, number []kind) (function, bool) {
	switch name {
	case "string":
		return function{1, 1, nil, String(), nil, true, toText}, true
	case "trim", "trimPrefix", "trimSuffix":
		return function{1, 2, [][]kind{text}, String(), nil, true, trimming(name)}, true
	case "upper", "lower":
		return function{1, 1, [][]kind{text}, String(), nil, true, casing(name)}, true
	case "urlencode":
		return function{1, 1, [][]kind{{kindString, kindFloat, kindBool}}, String(), nil, true, urlEncode}, true
	case "split":
		return function{2, 3, [][]kind{text, text, number}, List(String()), nil, true, splitText}, true
	case "replace":
		return function{3, 4, [][]kind{text, text, text, number}, String(), nil, true, replaceText}, true
	case "repeat":
		return function{2, 2, [][]kind{text, number}, String(), nil, true, repeatText}, true
	case "join":
		return function{1, 2, [][]kind{{kindList}, text}, String(), nil, true, joinText}, true
	case "indexOf", "lastIndexOf":
		return function{2, 2, [][]kind{text}, Int(), nil, true, indexText(name)}, true
	case "hasPrefix":
		return function{2, 2, [][]kind{text}, Bool(), nil, true, startsWith}, true
	case "hasSuffix":
		return function{2, 2, [][]kind{text}, Bool(), nil, true, endsWith}, true
	case "toJSON":
		return function{1, 1, nil, String(), nil, true, toJSON}, true
	case "fromJSON":
		return function{1, 1, [][]kind{text}, Any(), nil, true, fromJSON}, true
	case "toBase64":
		return function{1, 1, [][]kind{text}, String(), nil, true, toBase64}, true
	case "fromBase64":
		return function{1, 1, [][]kind{text}, String(), nil, true, fromBase64}, true
	}
	return function{}, false
}

func joinAll(args []operand) Type {
	out := args[0].typ
	for _, a := range args[1:] {
		out = join(out, a.typ)
	}
	if out.kind != kindList {
		return List(Any())
	}
	return out
}

// Functions lists every function an expression may call, sorted.
func Functions() []string {
	names := append(functionNames(), predicateNames()...)
	slices.Sort(names)
	return names
}
