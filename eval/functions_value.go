// Functions and operators on any value: members, equality, order, loops.

package eval

import (
	"cmp"
	"fmt"
	"strings"
)

// fetchMember is base[key] of objects and lists; a missing member of an object
// is null, an index beyond the end of a list an error, and null has no members.
func fetchMember(args ...any) (any, uint) {
	key := args[1]
	switch b := args[0].(type) {
	case map[string]any:
		if k, ok := key.(string); ok {
			return b[k], hashUnits(k)
		}
		panic(failf("members of an object are read by a string, found %s", kindOf(key)))
	case []any:
		if k, ok := key.(string); ok {
			panic(failf("a list has no member %q", k))
		}
		i := wholeNumber("an index", key)
		n := i
		if n < 0 {
			n += len(b)
		}
		if n < 0 || n >= len(b) {
			panic(failf("index %d is out of range: the list has %s", i, plural(len(b), "element")))
		}
		return b[n], 0
	}
	panic(failf("%s has no member %s", kindOf(args[0]), keyText(key)))
}

// fetchOptional is fetchMember for ?., where an object has no member null.
func fetchOptional(args ...any) (any, uint) {
	if _, ok := args[0].(map[string]any); ok && args[1] == nil {
		return nil, 0
	}
	return fetchMember(args...)
}

func keyText(key any) string {
	if s, ok := key.(string); ok {
		return fmt.Sprintf("%q", s)
	}
	return Text(key)
}

func hashUnits(key any) uint {
	s, _ := key.(string)
	return uint(len(s) / bytesRead)
}

// keyString passes on the computed key of an object and charges for hashing it.
func keyString(args ...any) (any, uint) {
	if _, ok := args[0].(string); !ok {
		panic(failf("keys of an object are strings, found %s", kindOf(args[0])))
	}
	return args[0], hashUnits(args[0])
}

// groupKey passes on a key of groupBy, which is a scalar.
func groupKey(args ...any) (any, uint) {
	switch args[0].(type) {
	case string, int, float64, bool:
		return args[0], hashUnits(args[0])
	}
	panic(failf("groupBy needs keys that are strings, numbers or booleans, found %s", kindOf(args[0])))
}

// getMember is base[key], or null when there is no such member.
func getMember(args ...any) (any, uint) {
	switch b := args[0].(type) {
	case map[string]any:
		k, ok := args[1].(string)
		if !ok {
			return nil, 0
		}
		return b[k], hashUnits(k)
	case []any:
		i, ok := args[1].(int)
		if i < 0 {
			i += len(b)
		}
		if !ok || i < 0 || i >= len(b) {
			return nil, 0
		}
		return b[i], 0
	}
	return nil, 0
}

// enterLoop passes on the list of a predicate and charges the price of one round for
// each element.
func enterLoop(name string, price uint, needsFirst bool) operation {
	return func(args ...any) (any, uint) {
		l := needList(name, args[0])
		if needsFirst && len(l) == 0 {
			panic(failf("reduce of an empty list needs a first value as its third argument"))
		}
		return l, uint(len(l)) * price
	}
}

// comparison compares plain data and counts what it costs.
type comparison struct{ units uint }

func (c *comparison) equal(a, b any, depth int) bool {
	if c.units++; depth > maxDepth {
		panic(errTooDeep)
	}
	if c.units > budget {
		panic(errBudget)
	}
	switch x := a.(type) {
	case string:
		y, ok := b.(string)
		c.units += uint(min(len(x), len(y)) / bytesRead)
		return ok && x == y
	case int:
		switch y := b.(type) {
		case int:
			return x == y
		case float64:
			return float64(x) == y
		}
		return false
	case float64:
		y, ok := Number(b)
		return ok && x == y
	case []any:
		y, ok := b.([]any)
		return ok && c.lists(x, y, depth)
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && c.objects(x, y, depth)
	}
	return a == nil && b == nil || a == true && b == true || a == false && b == false
}

func (c *comparison) lists(x, y []any, depth int) bool {
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if !c.equal(x[i], y[i], depth+1) {
			return false
		}
	}
	return true
}

// objects looks at every member even after a difference, so that the cost does
// not depend on the order in which a map is walked.
func (c *comparison) objects(x, y map[string]any, depth int) bool {
	if len(x) != len(y) {
		return false
	}
	same := true
	c.units += uint(4 * len(x)) // looking keys up
	for k, v := range x {
		w, ok := y[k]
		same = ok && c.equal(v, w, depth+1) && same
	}
	return same
}

func equalValues(args ...any) (any, uint) {
	var c comparison
	eq := c.equal(args[0], args[1], 0)
	return eq, c.units
}

func unequalValues(args ...any) (any, uint) {
	eq, units := equalValues(args...)
	return eq == false, units
}

// isEqual is equalValues for a value that is no list or object.
func isEqual(a, b any) bool { return new(comparison).equal(a, b, 0) }

// ordering returns <, <=, > or >=.
func ordering(op string, holds func(n int) bool) operator {
	compare := func(a, b any) (bool, uint) {
		n, units, err := order(a, b)
		if err != nil {
			panic(wrongOperands(op, a, b))
		}
		return holds(n), units
	}
	run := func(args ...any) (any, uint) { return compare(args[0], args[1]) }
	small := func(a, b any) any { out, _ := compare(a, b); return out }
	return operator{(*checker).ordering, run, small}
}

// order compares two numbers or two strings.
func order(a, b any) (n int, units uint, err error) {
	if x, ok := a.(string); ok {
		if y, ok := b.(string); ok {
			return strings.Compare(x, y), uint(min(len(x), len(y)) / bytesRead), nil
		}
	}
	if x, ok := a.(int); ok {
		if y, ok := b.(int); ok {
			return cmp.Compare(x, y), 0, nil
		}
	}
	x, ok := Number(a)
	y, ok2 := Number(b)
	if !ok || !ok2 {
		return 0, 0, failf("cannot order %s and %s", kindOf(a), kindOf(b))
	}
	return cmp.Compare(x, y), 0, nil
}

// add is + of two numbers or two strings.
func add(args ...any) (any, uint) {
	x, ok := args[0].(string)
	y, ok2 := args[1].(string)
	if ok && ok2 {
		units := uint((len(x) + len(y)) / bytesBuilt)
		if units > budget {
			panic(errBudget)
		}
		return x + y, units
	}
	if ok != ok2 {
		panic(wrongOperands("+", args[0], args[1]))
	}
	return addNumbers(args[0], args[1]), 0
}

// isMember implements `a in b`. It reports whether a is an element of a list, a key of an
// object or a part of a string. Null has no members.
func isMember(args ...any) (any, uint) {
	switch b := args[1].(type) {
	case nil:
		return false, 0
	case []any:
		var c comparison
		for _, e := range b {
			if c.equal(e, args[0], 0) {
				return true, c.units
			}
		}
		return false, c.units
	case map[string]any:
		k, ok := args[0].(string)
		if !ok {
			panic(failf("keys of an object are strings, found %s", kindOf(args[0])))
		}
		_, ok = b[k]
		return ok, hashUnits(k)
	case string:
		return containsValue(b, args[0])
	}
	panic(failf("in looks into a list, an object or a string, found %s", kindOf(args[1])))
}

// containsValue implements `a contains b`. It reports whether b is a part of a string or an
// element of a list.
func containsValue(args ...any) (any, uint) {
	switch a := args[0].(type) {
	case nil:
		return false, 0
	case []any:
		return isMember(args[1], a)
	case string:
		if args[1] == nil {
			return false, 0
		}
		b, ok := args[1].(string)
		if !ok {
			panic(failf("a string contains strings, found %s", kindOf(args[1])))
		}
		return strings.Contains(a, b), uint(len(a) / bytesRead)
	}
	panic(failf("contains needs a string or a list, found %s", kindOf(args[0])))
}

func typeName(args ...any) (any, uint) { return kindOf(args[0]), 0 }
