// The functions that evaluate an expression for each element of a list.

package eval

import (
	"errors"
	"fmt"
)

// predicate is a row of the table of predicates.
type predicate struct {
	isTest bool       // the expression must be boolean
	result resultType // from the types of the list and of the expression
	run    func(l loop) any
}

var predicates = map[string]predicate{
	"all":           {true, fixedType(Bool()), func(l loop) any { return l.search(false, false) < 0 }},
	"any":           {true, fixedType(Bool()), func(l loop) any { return l.search(true, false) >= 0 }},
	"none":          {true, fixedType(Bool()), func(l loop) any { return l.search(true, false) < 0 }},
	"one":           {true, fixedType(Bool()), func(l loop) any { return len(l.filter()) == 1 }},
	"count":         {true, fixedType(Int()), func(l loop) any { return len(l.filter()) }},
	"findIndex":     {true, fixedType(Int()), func(l loop) any { return indexOrNull(l.search(true, false)) }},
	"findLastIndex": {true, fixedType(Int()), func(l loop) any { return indexOrNull(l.search(true, true)) }},
	"find":          {true, elementType, func(l loop) any { return memberOrNull(l.list, indexOrNull(l.search(true, false))) }},
	"findLast":      {true, elementType, func(l loop) any { return memberOrNull(l.list, indexOrNull(l.search(true, true))) }},
	"filter":        {true, func(args ...Type) Type { return List(args[0].Elem()) }, func(l loop) any { return l.filter() }},
	"map":           {false, func(args ...Type) Type { return List(args[1]) }, func(l loop) any { return l.evalBodies() }},
	"sum":           {false, func(args ...Type) Type { return args[1] }, loop.sum},
	"reduce":        {false, fixedType(Any()), loop.reduce},
	"groupBy":       {false, fixedType(Object(nil, true)), loop.group},
	"sortBy":        {false, sameType, loop.sort},
}

// loop holds one evaluation of a predicate.
type loop struct {
	*frame
	call  *Tree
	list  []any
	body  evaluator // nil for a sum of the list itself
	extra evaluator // the third argument, or nil
}

// search returns the index of the first or last element whose body is want, or -1.
func (l loop) search(want, backward bool) int {
	for i := range l.enterElements(l.list, backward) {
		if l.body(l.frame) == want {
			return i
		}
	}
	return -1
}

func indexOrNull(i int) any {
	if i < 0 {
		return nil
	}
	return i
}

// filter returns the elements whose body is true.
func (l loop) filter() []any {
	found := []any{}
	for i := range l.enterElements(l.list, false) {
		if l.body(l.frame) == true {
			found = append(found, l.list[i])
		}
	}
	return found
}

func (l loop) evalBodies() []any {
	out := make([]any, len(l.list))
	for i := range l.enterElements(l.list, false) {
		out[i] = l.body(l.frame)
	}
	l.part = l.call
	return out
}

// sum adds the values of the body, or the elements. The sum of an empty list is 0.
func (l loop) sum() any {
	values := l.list
	if l.body != nil {
		values = l.evalBodies()
	}
	l.spend(len(values))
	var total any = 0
	for _, v := range values {
		total = addNumbers(l.frame, total, v)
		if n, ok := total.(int); ok && max(n, -n) > maxInt {
			panic(errTooBig)
		}
	}
	return total
}

// reduce folds the list. Without an initial value, it begins with the first element.
func (l loop) reduce() any {
	var acc any
	begin := 0
	switch {
	case l.extra != nil:
		acc = l.extra(l.frame)
	case len(l.list) == 0:
		panic(errors.New("reduce of an empty list needs a first value as its third argument"))
	default:
		acc, begin = l.list[0], 1
	}
	for i := range l.enterElements(l.list, false) {
		if i >= begin {
			l.loops[len(l.loops)-1].acc = acc
			acc = l.body(l.frame)
		}
	}
	return acc
}

// group returns an object of lists. It groups the elements by the values of their bodies.
func (l loop) group() any {
	out, first := map[string]any{}, map[string]any{}
	for i, k := range l.evalBodies() {
		name := Text(k)
		if other, again := first[name]; again && other != k {
			panic(fmt.Errorf("groupBy has two different keys that both read %s", quoteShort(name)))
		}
		first[name] = k
		group, _ := out[name].([]any)
		out[name] = append(group, l.list[i])
	}
	l.spend(len(out) * costObject)
	return out
}

// groupKey returns a key of groupBy. It fails unless the value is a scalar.
func groupKey(f *frame, args []any) any {
	if !kindOf(args[0]).isOneOf(scalar) {
		panic(fmt.Errorf("groupBy needs keys that are strings, numbers or booleans, found %s", kindOf(args[0])))
	}
	if s, ok := args[0].(string); ok {
		f.spendRead(len(s))
	}
	return args[0]
}

func (l loop) sort() any {
	keys := l.evalBodies()
	var order []any
	if l.extra != nil {
		order, l.part = []any{l.extra(l.frame)}, l.call
	}
	return sortByKeys(l.frame, "sortBy", l.list, keys, order)
}
