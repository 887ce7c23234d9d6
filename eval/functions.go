// The functions that expressions may call: all pure and deterministic.

package eval

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// function is a row of the table of functions.
type function struct {
	min, max int      // arguments
	params   [][]kind // allowed kinds per argument; none is any; further ones are like the last
	result   func(args []*Tree) Type
	run      operation
}

const many = 100

var (
	text      = []kind{kindString}
	number    = []kind{kindFloat}
	aList     = []kind{kindList}
	object    = []kind{kindObject}
	readable  = []kind{kindFloat, kindString}
	numbers   = []kind{kindFloat, kindList}
	countable = []kind{kindString, kindList, kindObject}
)

var functions = map[string]function{
	"abs":         {1, 1, [][]kind{number}, absType, absValue},
	"ceil":        {1, 1, [][]kind{number}, gives(Int()), rounding("ceil", math.Ceil)},
	"concat":      {1, many, [][]kind{aList}, joinAll, concatValues},
	"first":       {1, 1, [][]kind{aList}, elementOf, endOf("first")},
	"flatten":     {1, 1, [][]kind{aList}, gives(List(Any())), flattenValues},
	"float":       {1, 1, [][]kind{readable}, gives(Float()), toFloat},
	"floor":       {1, 1, [][]kind{number}, gives(Int()), rounding("floor", math.Floor)},
	"fromBase64":  {1, 1, [][]kind{text}, gives(String()), fromBase64},
	"fromJSON":    {1, 1, [][]kind{text}, gives(Any()), fromJSON},
	"fromPairs":   {1, 1, [][]kind{aList}, gives(Object(nil, true)), fromPairs},
	"get":         {2, 2, nil, gives(Any()), getMember},
	"hasPrefix":   {2, 2, [][]kind{text}, gives(Bool()), startsWith},
	"hasSuffix":   {2, 2, [][]kind{text}, gives(Bool()), endsWith},
	"indexOf":     {2, 2, [][]kind{text}, gives(Int()), indexText("indexOf", strings.Index)},
	"int":         {1, 1, [][]kind{readable}, gives(Int()), toInt},
	"join":        {1, 2, [][]kind{aList, text}, gives(String()), joinText},
	"keys":        {1, 1, [][]kind{object}, gives(List(String())), listMembers("keys", func(k string, _ any) any { return k })},
	"last":        {1, 1, [][]kind{aList}, elementOf, endOf("last")},
	"lastIndexOf": {2, 2, [][]kind{text}, gives(Int()), indexText("lastIndexOf", strings.LastIndex)},
	"len":         {1, 1, [][]kind{countable}, gives(Int()), lenValue},
	"lower":       {1, 1, [][]kind{text}, gives(String()), casing("lower", strings.ToLower)},
	"max":         {1, many, [][]kind{numbers}, gives(Float()), extreme("max", 1)},
	"mean":        {1, many, [][]kind{numbers}, gives(Float()), average("mean")},
	"median":      {1, many, [][]kind{numbers}, gives(Float()), average("median")},
	"min":         {1, many, [][]kind{numbers}, gives(Float()), extreme("min", -1)},
	"repeat":      {2, 2, [][]kind{text, number}, gives(String()), repeatText},
	"replace":     {3, 4, [][]kind{text, text, text, number}, gives(String()), replaceText},
	"reverse":     {1, 1, [][]kind{aList}, sameType, reverseValues},
	"round":       {1, 1, [][]kind{number}, gives(Int()), rounding("round", math.Round)},
	"sort":        {1, 2, [][]kind{aList, text}, sameType, sortValues},
	"split":       {2, 3, [][]kind{text, text, number}, gives(List(String())), splitText},
	"string":      {1, 1, nil, gives(String()), toText},
	"take":        {2, 2, [][]kind{aList, number}, sameType, takeValues},
	"toBase64":    {1, 1, [][]kind{text}, gives(String()), toBase64},
	"toJSON":      {1, 1, nil, gives(String()), toJSON},
	"toPairs":     {1, 1, [][]kind{object}, gives(List(List(Any()))), listMembers("toPairs", func(k string, v any) any { return []any{k, v} })},
	"trim":        {1, 2, [][]kind{text}, gives(String()), trimming("trim", strings.Trim)},
	"trimPrefix":  {1, 2, [][]kind{text}, gives(String()), trimming("trimPrefix", strings.TrimPrefix)},
	"trimSuffix":  {1, 2, [][]kind{text}, gives(String()), trimming("trimSuffix", strings.TrimSuffix)},
	"type":        {1, 1, nil, gives(String()), typeName},
	"uniq":        {1, 1, [][]kind{aList}, sameType, uniqValues},
	"upper":       {1, 1, [][]kind{text}, gives(String()), casing("upper", strings.ToUpper)},
	"urlencode":   {1, 1, [][]kind{{kindString, kindFloat, kindBool}}, gives(String()), urlEncode},
	"values":      {1, 1, [][]kind{object}, gives(List(Any())), listMembers("values", func(_ string, v any) any { return v })},
}

func gives(t Type) func([]*Tree) Type { return func([]*Tree) Type { return t } }

func elementOf(args []*Tree) Type { return args[0].Type.Elem() }

func sameType(args []*Tree) Type { return args[0].Type }

func absType(args []*Tree) Type { return numberType(args[0].Type, args[0].Type) }

func joinAll(args []*Tree) Type {
	if out := joined(args, (*Tree).typ); out.kind == kindList {
		return out
	}
	return List(Any())
}

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

// Functions lists every function an expression may call, sorted.
func Functions() []string {
	names := callable()
	slices.Sort(names)
	return names
}
