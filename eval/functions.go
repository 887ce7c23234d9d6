// The functions that expressions may call. All are pure and deterministic.

package eval

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/internal/suggest"
)

// function is a row of the table of functions.
type function struct {
	min, max int      // arguments
	params   [][]kind // allowed kinds per argument, nil for any; the last entry covers the rest
	result   resultType
	run      operation
}

const many = 100

var (
	text      = []kind{kindString}
	maybeText = []kind{kindString, kindNull}
	number    = []kind{kindFloat}
	aList     = []kind{kindList}
	maybeList = []kind{kindList, kindNull}
	object    = []kind{kindObject}
	readable  = []kind{kindFloat, kindString}
	numbers   = []kind{kindFloat, kindList}
	countable = []kind{kindString, kindList, kindObject}
	scalar    = []kind{kindString, kindFloat, kindBool}
)

var functions = map[string]function{
	"abs":         {1, 1, [][]kind{number}, numberType, absValue},
	"ceil":        {1, 1, [][]kind{number}, fixedType(Int()), newRounding(math.Ceil)},
	"concat":      {1, many, [][]kind{aList}, concatType, concatValues},
	"first":       {1, 1, [][]kind{maybeList}, elementType, newElementReader(0)},
	"flatten":     {1, 1, [][]kind{aList}, fixedType(List(Any())), flattenValues},
	"float":       {1, 1, [][]kind{readable}, fixedType(Float()), toFloat},
	"floor":       {1, 1, [][]kind{number}, fixedType(Int()), newRounding(math.Floor)},
	"fromBase64":  {1, 1, [][]kind{text}, fixedType(String()), fromBase64},
	"fromJSON":    {1, 1, [][]kind{text}, fixedType(Any()), fromJSON},
	"fromPairs":   {1, 1, [][]kind{aList}, fixedType(Object(nil, true)), fromPairs},
	"get":         {2, 2, nil, fixedType(Any()), getValue},
	"hasPrefix":   {2, 2, [][]kind{maybeText}, fixedType(Bool()), wrapOperator(newAffixTest("hasPrefix", strings.HasPrefix))},
	"hasSuffix":   {2, 2, [][]kind{maybeText}, fixedType(Bool()), wrapOperator(newAffixTest("hasSuffix", strings.HasSuffix))},
	"indexOf":     {2, 2, [][]kind{text}, fixedType(Int()), newIndexSearch(strings.Index)},
	"int":         {1, 1, [][]kind{readable}, fixedType(Int()), toInt},
	"join":        {1, 2, [][]kind{aList, text}, fixedType(String()), joinText},
	"keys":        {1, 1, [][]kind{object}, fixedType(List(String())), newMemberList(func(k string, _ any) any { return k })},
	"last":        {1, 1, [][]kind{maybeList}, elementType, newElementReader(-1)},
	"lastIndexOf": {2, 2, [][]kind{text}, fixedType(Int()), newIndexSearch(strings.LastIndex)},
	"len":         {1, 1, [][]kind{countable}, fixedType(Int()), lenValue},
	"lower":       {1, 1, [][]kind{text}, fixedType(String()), newTextChange(2, strings.ToLower)},
	"max":         {1, many, [][]kind{numbers}, fixedType(Float()), newExtreme("max", 1)},
	"mean":        {1, many, [][]kind{numbers}, fixedType(Float()), mean},
	"median":      {1, many, [][]kind{numbers}, fixedType(Float()), median},
	"min":         {1, many, [][]kind{numbers}, fixedType(Float()), newExtreme("min", -1)},
	"repeat":      {2, 2, [][]kind{text, number}, fixedType(String()), repeatText},
	"replace":     {3, 4, [][]kind{text, text, text, number}, fixedType(String()), replaceText},
	"reverse":     {1, 1, [][]kind{aList}, sameType, reverseValues},
	"round":       {1, 1, [][]kind{number}, fixedType(Int()), newRounding(math.Round)},
	"sort":        {1, 2, [][]kind{aList, text}, sameType, sortValues},
	"split":       {2, 3, [][]kind{text, text, number}, fixedType(List(String())), splitText},
	"string":      {1, 1, nil, fixedType(String()), toText},
	"take":        {2, 2, [][]kind{aList, number}, sameType, takeValues},
	"toBase64":    {1, 1, [][]kind{text}, fixedType(String()), newTextChange(3, toBase64)},
	"toJSON":      {1, 1, nil, fixedType(String()), toJSON},
	"toPairs":     {1, 1, [][]kind{object}, fixedType(List(List(Any()))), newMemberList(func(k string, v any) any { return []any{k, v} })},
	"trim":        {1, 2, [][]kind{text}, fixedType(String()), trimText},
	"trimPrefix":  {1, 2, [][]kind{text}, fixedType(String()), newTrim(strings.TrimPrefix)},
	"trimSuffix":  {1, 2, [][]kind{text}, fixedType(String()), newTrim(strings.TrimSuffix)},
	"type":        {1, 1, nil, fixedType(String()), func(_ *frame, a []any) any { return kindOf(a[0]).String() }},
	"uniq":        {1, 1, [][]kind{aList}, sameType, uniqValues},
	"upper":       {1, 1, [][]kind{text}, fixedType(String()), newTextChange(2, strings.ToUpper)},
	"urlencode":   {1, 1, [][]kind{scalar}, fixedType(String()), urlEncode},
	"values":      {1, 1, [][]kind{object}, fixedType(List(Any())), newMemberList(func(_ string, v any) any { return v })},
}

// wrapOperator returns an operator as a function of two arguments.
func wrapOperator(run binaryOperation) operation {
	return func(f *frame, a []any) any { return run(f, a[0], a[1]) }
}

// resultType returns the type of a result for the types of the arguments.
type resultType = func(args ...Type) Type

func fixedType(t Type) resultType { return func(...Type) Type { return t } }

func elementType(args ...Type) Type { return args[0].Elem() }

func sameType(args ...Type) Type { return args[0] }

func concatType(args ...Type) Type {
	if out := joinTypes(args, func(t Type) Type { return t }); out.kind == kindList {
		return out
	}
	return List(Any())
}

func (fn *function) allowedKinds(i int) []kind {
	if len(fn.params) == 0 {
		return nil
	}
	return fn.params[min(i, len(fn.params)-1)]
}

// withKindCheck returns the operation of a function with a check of the kinds of its arguments.
func (fn function) withKindCheck(name string) operation {
	return func(f *frame, args []any) any {
		for i, arg := range args {
			if want := fn.allowedKinds(i); want != nil && !kindOf(arg).isOneOf(want) {
				panic(fmt.Errorf("%s needs %s, found %s", name, describeKinds(want), kindOf(arg)))
			}
		}
		return fn.run(f, args)
	}
}

func (fn *function) arity() string {
	switch {
	case fn.max == many:
		return "at least " + Count(fn.min, "argument")
	case fn.min == fn.max:
		return Count(fn.min, "argument")
	}
	return fmt.Sprintf("%d to %d arguments", fn.min, fn.max)
}

// describeKinds returns the names of kinds, except null, for a message.
func describeKinds(kinds []kind) string {
	var names []string
	for _, k := range kinds {
		if k != kindNull {
			names = append(names, Type{kind: k}.WithArticle())
		}
	}
	return suggest.Or(names)
}

// Functions returns the names of all functions and predicates, sorted.
func Functions() []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(functions)), maps.Keys(predicates))
	slices.Sort(names)
	return names
}

func absValue(_ *frame, a []any) any {
	if n, ok := a[0].(int); ok {
		return max(n, -n)
	}
	return math.Abs(a[0].(float64))
}

// newRounding returns the function ceil, floor or round (half away from zero). The result is an
// integer unless it is too large.
func newRounding(round func(float64) float64) operation {
	return func(_ *frame, a []any) any {
		n, isFloat := a[0].(float64)
		if !isFloat {
			return a[0]
		}
		if n = round(n); math.Abs(n) > maxInt {
			return n
		}
		return int(n)
	}
}

// flattenNumbers returns the numbers in args and in lists in args, as they are and as floats.
func flattenNumbers(f *frame, name string, args []any) (values []any, floats []float64) {
	for _, a := range args {
		list, isList := a.([]any)
		if !isList {
			list = []any{a}
		}
		values = append(values, list...)
	}
	f.spend(len(values))
	for _, v := range values {
		n, ok := Number(v)
		if !ok {
			panic(fmt.Errorf("%s needs numbers, found %s", name, kindOf(v)))
		}
		floats = append(floats, n)
	}
	return values, floats
}

// newExtreme returns the function max (1) or min (-1). It returns null if there are no numbers.
func newExtreme(name string, sign int) operation {
	return func(f *frame, a []any) any {
		var best any
		values, _ := flattenNumbers(f, name, a)
		for _, v := range values {
			if n, ok := f.compareOrder(v, best); !ok || n*sign > 0 {
				best = v
			}
		}
		return best
	}
}

// mean returns the mean of the arguments, or null if there are none.
func mean(f *frame, a []any) any {
	_, floats := flattenNumbers(f, "mean", a)
	if len(floats) == 0 {
		return nil
	}
	sum := 0.0
	for _, x := range floats {
		sum += x
	}
	return checkFloat(sum / float64(len(floats)))
}

// median returns the median of the arguments, or null if there are none.
func median(f *frame, a []any) any {
	_, floats := flattenNumbers(f, "median", a)
	n := len(floats)
	if n == 0 {
		return nil
	}
	f.spendSort(n)
	slices.Sort(floats)
	if n%2 == 1 {
		return floats[n/2]
	}
	return checkFloat((floats[n/2-1] + floats[n/2]) / 2)
}
