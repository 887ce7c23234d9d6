// Operations on any value: members, equality, order and membership, and arithmetic that fails
// instead of wrapping around.

package eval

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// fetchMember returns base[key]. A missing member of an object is null. It fails on an index beyond
// the end of a list and on a member of null.
func fetchMember(f *frame, base, key any) any {
	k, isText := key.(string)
	switch b := base.(type) {
	case map[string]any:
		if !isText {
			panic(fmt.Errorf("members of an object are read by a string, found %s", kindOf(key)))
		}
		f.spendRead(len(k))
		return b[k]
	case []any:
		if isText {
			panic(fmt.Errorf("a list has no member %q", k))
		}
		i := wholeNumber("an index", key)
		if i < -len(b) || i >= len(b) {
			panic(fmt.Errorf("index %d is out of range: the list has %s", i, Count(len(b), "element")))
		}
		return memberOrNull(b, i)
	}
	name := Text(key)
	if isText {
		name = fmt.Sprintf("%q", k)
	}
	panic(fmt.Errorf("%s has no member %s", kindOf(base), name))
}

// memberOrNull returns base[key], or null if there is no such member.
func memberOrNull(base, key any) any {
	switch b := base.(type) {
	case map[string]any:
		if k, ok := key.(string); ok {
			return b[k]
		}
	case []any:
		i, ok := key.(int)
		if i < 0 {
			i += len(b)
		}
		if ok && i >= 0 && i < len(b) {
			return b[i]
		}
	}
	return nil
}

// equalValues compares plain data deeply.
func (f *frame) equalValues(a, b any, depth int) bool {
	if f.spend(1); depth > maxDepth {
		panic(errTooDeep)
	}
	switch x := a.(type) {
	case nil:
		return b == nil
	case string:
		y, ok := b.(string)
		f.spendRead(min(len(x), len(y)))
		return ok && x == y
	case int:
		if y, ok := b.(int); ok {
			return x == y
		}
		y, ok := b.(float64)
		return ok && float64(x) == y
	case float64:
		y, ok := Number(b)
		return ok && x == y
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, func(v, w any) bool { return f.equalValues(v, w, depth+1) })
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && len(x) == len(y) && f.equalObjects(x, y, depth)
	}
	return a == true && b == true || a == false && b == false
}

// equalObjects compares all members even after a difference, so that the cost does not depend
// on the iteration order of a map.
func (f *frame) equalObjects(x, y map[string]any, depth int) bool {
	same := true
	f.spend(4 * len(x)) // for the lookups
	for k, v := range x {
		w, ok := y[k]
		same = ok && f.equalValues(v, w, depth+1) && same
	}
	return same
}

func isEqual(f *frame, a, b any) any { return f.equalValues(a, b, 0) }

func notEqual(f *frame, a, b any) any { return !f.equalValues(a, b, 0) }

// newComparison returns the operator <, <=, > or >=.
func newComparison(op string, holds func(n int) bool) operator {
	return operator{(*checker).checkOrdering, fixedType(Bool()), func(f *frame, a, b any) any {
		n, ok := f.compareOrder(a, b)
		if !ok {
			panic(operandError(op, a, b))
		}
		return holds(n)
	}}
}

// compareOrder compares two numbers or two strings.
func (f *frame) compareOrder(a, b any) (n int, ok bool) {
	switch x := a.(type) {
	case string:
		y, ok := b.(string)
		f.spendRead(min(len(x), len(y)))
		return strings.Compare(x, y), ok
	case int:
		if y, ok := b.(int); ok {
			return cmp.Compare(x, y), true
		}
	}
	x, ok := Number(a)
	y, ok2 := Number(b)
	return cmp.Compare(x, y), ok && ok2
}

// addValues adds two numbers or joins two strings.
func addValues(f *frame, a, b any) any {
	x, ok := a.(string)
	y, ok2 := b.(string)
	if ok && ok2 {
		f.spendText(len(x) + len(y))
		return x + y
	}
	return addNumbers(f, a, b)
}

// isMember reports whether a is an element of a list, a key of an object or a part of a
// string. Null has no members.
func isMember(f *frame, a, b any) any {
	switch b := b.(type) {
	case nil:
		return false
	case []any:
		return slices.ContainsFunc(b, func(e any) bool { return f.equalValues(e, a, 0) })
	case map[string]any:
		_, has := b[objectKey(f, a)]
		return has
	case string:
		return containsValue(f, b, a)
	}
	panic(fmt.Errorf("in looks into a list, an object or a string, found %s", kindOf(b)))
}

// objectKey returns a key of an object and charges for hashing it.
func objectKey(f *frame, key any) string {
	k, ok := key.(string)
	if !ok {
		panic(fmt.Errorf("keys of an object are strings, found %s", kindOf(key)))
	}
	f.spendRead(len(k))
	return k
}

// containsValue reports whether b is a part of a string or an element of a list.
func containsValue(f *frame, a, b any) any {
	switch a := a.(type) {
	case nil:
		return false
	case []any:
		return isMember(f, b, a)
	case string:
		if b == nil {
			return false
		}
		part, ok := b.(string)
		if !ok {
			panic(fmt.Errorf("a string contains strings, found %s", kindOf(b)))
		}
		f.spendRead(len(a))
		return strings.Contains(a, part)
	}
	panic(fmt.Errorf("contains needs a string or a list, found %s", kindOf(a)))
}

// newAffixTest returns the operator startsWith or endsWith, which is false if an operand is null.
func newAffixTest(name string, has func(s, part string) bool) binaryOperation {
	return func(f *frame, a, b any) any {
		if a == nil || b == nil {
			return false
		}
		s, part := requireType[string](name, a), requireType[string](name, b)
		f.spendRead(len(part))
		return has(s, part)
	}
}

// requireType returns a value of the type that a function or operator needs.
func requireType[T any](name string, v any) T {
	t, ok := v.(T)
	if !ok {
		panic(fmt.Errorf("%s needs %s, found %s", name, Type{kind: kindOf(t)}.WithArticle(), kindOf(v)))
	}
	return t
}

var errZeroDivision = errors.New("division by zero")

// maxSum bounds sums and differences, which may leave the 61 bits of integers: n + n - n is n.
const maxSum = 1 << 62

var (
	addNumbers = newArithmetic("+", maxSum, func(x, y int) int { return x + y }, func(f, g float64) float64 { return f + g })
	subtract   = newArithmetic("-", maxSum, func(x, y int) int { return x - y }, func(f, g float64) float64 { return f - g })
	multiply   = newArithmetic("*", maxInt, func(x, y int) int { return x * y }, func(f, g float64) float64 { return f * g })
)

// newArithmetic returns an operator on two integers, or else on floats. It fails if the magnitude
// of an integer result is beyond most.
func newArithmetic(op string, most float64, ints func(x, y int) int, numbers func(f, g float64) float64) binaryOperation {
	return func(_ *frame, a, b any) any {
		x, xInt := a.(int)
		y, yInt := b.(int)
		if !xInt || !yInt {
			f, g := toFloats(op, a, b)
			return checkFloat(numbers(f, g))
		}
		if math.Abs(numbers(float64(x), float64(y))) > most {
			panic(errTooBig)
		}
		return ints(x, y)
	}
}

// divide always returns a float64.
func divide(_ *frame, a, b any) any {
	f, g := toFloats("/", a, b)
	if g == 0 {
		panic(errZeroDivision)
	}
	return checkFloat(f / g)
}

// modulo returns the remainder of whole numbers of either type. The result has the sign of a.
func modulo(_ *frame, a, b any) any {
	x, y := wholeNumber("%", a), wholeNumber("%", b)
	if y == 0 {
		panic(errZeroDivision)
	}
	return x % y
}

// raisePower returns a to the power of b: an int if both are and b is not negative, else a float64.
func raisePower(_ *frame, a, b any) any {
	f, g := toFloats("**", a, b)
	out := math.Pow(f, g)
	base, xInt := a.(int)
	y, yInt := b.(int)
	if !xInt || !yInt || y < 0 {
		return checkFloat(out)
	}
	if math.Abs(out) > maxInt {
		panic(errTooBig)
	}
	n := 1
	for ; y > 0; y >>= 1 {
		if y&1 == 1 {
			n *= base
		}
		base *= base
	}
	return n
}

func negate(_ *frame, _, v any) any {
	switch v := v.(type) {
	case int:
		return -v
	case float64:
		return -v
	}
	panic(fmt.Errorf("cannot use - on %s", kindOf(v)))
}

func checkFloat(f float64) any {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		panic(errors.New("result is not a finite number"))
	}
	return f
}

func toFloats(op string, a, b any) (float64, float64) {
	f, ok := Number(a)
	g, ok2 := Number(b)
	if !ok || !ok2 {
		panic(operandError(op, a, b))
	}
	return f, g
}

// Number returns an integer or a float64 as a float64, and false for any other value.
func Number(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// wholeNumber returns a number without a fraction as an int.
func wholeNumber(op string, v any) int {
	switch v := v.(type) {
	case int:
		return v
	case float64:
		if v == math.Trunc(v) && math.Abs(v) <= maxInt {
			return int(v)
		}
		panic(fmt.Errorf("%s needs whole numbers, found %s", op, Text(v)))
	}
	panic(fmt.Errorf("%s needs whole numbers, found %s", op, kindOf(v)))
}

func operandError(op string, a, b any) error {
	return fmt.Errorf("cannot use %s on %s and %s", op, kindOf(a), kindOf(b))
}
