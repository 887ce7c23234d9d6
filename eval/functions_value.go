// Functions and operators on any value: members, equality, order, loops.

package eval

import (
	"cmp"
	"fmt"
	"strings"
)

// fetchMember is base[key] of objects and lists; a missing member of an object
// is null, an index beyond the end of a list an error, and null has no members.
func fetchMember(base, key any) any {
	switch b := base.(type) {
	case map[string]any:
		if k, ok := key.(string); ok {
			return b[k]
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
		return b[n]
	case nil:
		panic(failf("null has no member %s", keyText(key)))
	}
	panic(failf("%s has no member %s", kindOf(base), keyText(key)))
}

func keyText(key any) string {
	if s, ok := key.(string); ok {
		return fmt.Sprintf("%q", s)
	}
	return Text(key)
}

// keyValue passes a computed key on and charges for hashing it.
func keyValue(args ...any) (any, uint, error) { return args[0], hashUnits(args[0]), nil }

func hashUnits(key any) uint {
	s, _ := key.(string)
	return uint(len(s) / bytesRead)
}

// keyString is keyValue for keys of object literals, which are strings.
func keyString(args ...any) (any, uint, error) {
	if _, ok := args[0].(string); !ok {
		return nil, 0, failf("keys of an object are strings, found %s", kindOf(args[0]))
	}
	return args[0], hashUnits(args[0]), nil
}

// groupKey is keyValue for groupBy, whose keys are scalars.
func groupKey(args ...any) (any, uint, error) {
	switch args[0].(type) {
	case string, int, float64, bool:
		return args[0], hashUnits(args[0]), nil
	}
	return nil, 0, failf("groupBy needs keys that are strings, numbers or booleans, found %s", kindOf(args[0]))
}

// getMember is base[key], or null when there is no such member.
func getMember(args ...any) (any, uint, error) {
	switch b := args[0].(type) {
	case map[string]any:
		k, ok := args[1].(string)
		if !ok {
			return nil, 0, nil
		}
		return b[k], hashUnits(k), nil
	case []any:
		i, ok := args[1].(int)
		if i < 0 {
			i += len(b)
		}
		if !ok || i < 0 || i >= len(b) {
			return nil, 0, nil
		}
		return b[i], 0, nil
	}
	return nil, 0, nil
}

// enterLoop gets the list of a predicate, the price of one round and the
// predicate's name, and charges for all rounds.
func enterLoop(args ...any) (any, uint, error) {
	l, ok := args[0].([]any)
	if !ok {
		return nil, 0, failf("%s needs a list, found %s", args[2], kindOf(args[0]))
	}
	return l, uint(len(l)) * uint(args[1].(int)), nil
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

func equalValues(args ...any) (any, uint, error) {
	var c comparison
	eq := c.equal(args[0], args[1], 0)
	return eq, c.units, nil
}

// orderings returns the function of <, <=, > or >=.
func orderings(op string) charged {
	return func(args ...any) (any, uint, error) {
		n, units, err := order(args[0], args[1])
		if err != nil {
			return nil, 0, wrongOperands(op, args[0], args[1])
		}
		switch op {
		case "<":
			return n < 0, units, nil
		case "<=":
			return n <= 0, units, nil
		case ">":
			return n > 0, units, nil
		}
		return n >= 0, units, nil
	}
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

// add is + where neither side is known to be a number.
func add(args ...any) (any, uint, error) {
	x, ok := args[0].(string)
	y, ok2 := args[1].(string)
	if ok && ok2 {
		units := uint((len(x) + len(y)) / bytesBuilt)
		if units > budget {
			return nil, 0, errBudget
		}
		return x + y, units, nil
	}
	if ok != ok2 {
		return nil, 0, wrongOperands("+", args[0], args[1])
	}
	return addNumbers(args[0], args[1]), 0, nil
}

// inValue is a in b: an element of a list, a key of an object, a part of a
// string. Null holds nothing.
func inValue(args ...any) (any, uint, error) {
	switch b := args[1].(type) {
	case nil:
		return false, 0, nil
	case []any:
		var c comparison
		for _, e := range b {
			if c.equal(e, args[0], 0) {
				return true, c.units, nil
			}
		}
		return false, c.units, nil
	case map[string]any:
		k, ok := args[0].(string)
		if !ok {
			return nil, 0, failf("keys of an object are strings, found %s", kindOf(args[0]))
		}
		_, ok = b[k]
		return ok, hashUnits(k), nil
	case string:
		return containsValue(b, args[0])
	}
	return nil, 0, failf("in looks into a list, an object or a string, found %s", kindOf(args[1]))
}

// containsValue is a contains b: a part of a string, or an element of a list.
func containsValue(args ...any) (any, uint, error) {
	switch a := args[0].(type) {
	case nil:
		return false, 0, nil
	case []any:
		return inValue(args[1], a)
	case string:
		if args[1] == nil {
			return false, 0, nil
		}
		b, ok := args[1].(string)
		if !ok {
			return nil, 0, failf("a string contains strings, found %s", kindOf(args[1]))
		}
		return strings.Contains(a, b), uint(len(a) / bytesRead), nil
	}
	return nil, 0, failf("contains needs a string or a list, found %s", kindOf(args[0]))
}

func typeName(args ...any) (any, uint, error) { return kindOf(args[0]), 0, nil }
