// Functions on lists and objects. Whatever comes from an object is in the
// order of its sorted keys.

package eval

import (
	"maps"
	"math/bits"
	"slices"
	"unicode/utf8"
)

// need is a value of the type that a function needs.
func need[T any](name, what string, v any) T {
	t, ok := v.(T)
	if !ok {
		panic(failf("%s needs %s, found %s", name, what, kindOf(v)))
	}
	return t
}

func needList(name string, v any) []any { return need[[]any](name, "a list", v) }

// sortUnits is the cost of sorting n values.
func sortUnits(n int) uint { return uint(n * bits.Len(uint(n)) * 2) }

// lenValue counts characters, elements or members.
func lenValue(args ...any) (any, uint) {
	switch v := args[0].(type) {
	case string:
		return utf8.RuneCountInString(v), uint(len(v) / 16)
	case []any:
		return len(v), 0
	case map[string]any:
		return len(v), 0
	}
	panic(failf("len needs a string, a list or an object, found %s", kindOf(args[0])))
}

func endOf(name string) operation {
	return func(args ...any) (any, uint) {
		if args[0] == nil {
			return nil, 0
		}
		l := needList(name, args[0])
		switch {
		case len(l) == 0:
			return nil, 0
		case name == "first":
			return l[0], 0
		}
		return l[len(l)-1], 0
	}
}

func takeValues(args ...any) (any, uint) {
	l := needList("take", args[0])
	n := min(max(wholeNumber("take", args[1]), 0), len(l))
	return l[:n:n], 0
}

// sliceValue is base[from:to] of lists and, by characters, of strings; null
// ends are open and negative ones count from the end.
func sliceValue(args ...any) (any, uint) {
	switch v := args[0].(type) {
	case []any:
		from, to := sliceEnds(args[1], args[2], len(v))
		return v[from:to:to], 0
	case string:
		if len(v)/bytesBuilt > budget {
			panic(errBudget)
		}
		chars := []rune(v)
		from, to := sliceEnds(args[1], args[2], len(chars))
		return string(chars[from:to]), built(len(v) * 2)
	}
	panic(failf("only lists and strings have slices, found %s", kindOf(args[0])))
}

func sliceEnds(from, to any, n int) (int, int) {
	end := func(v any, open int) int {
		if v == nil {
			return open
		}
		i := wholeNumber("a slice", v)
		if i < 0 {
			i += n
		}
		return min(max(i, 0), n)
	}
	a, b := end(from, 0), end(to, n)
	return min(a, b), b
}

// makeRange is a..b, both included; empty when b is less.
func makeRange(args ...any) (any, uint) {
	a, b := wholeNumber("..", args[0]), wholeNumber("..", args[1])
	if a > b {
		return []any{}, 0
	}
	if b-a >= maxElements {
		panic(errBudget)
	}
	out := make([]any, b-a+1)
	for i := range out {
		out[i] = a + i
	}
	return out, uint(len(out) * budget / maxElements)
}

// listMembers returns keys, values or toPairs.
func listMembers(name string, member func(key string, value any) any) operation {
	return func(args ...any) (any, uint) {
		m := need[map[string]any](name, "an object", args[0])
		out := make([]any, 0, len(m))
		for _, k := range slices.Sorted(maps.Keys(m)) {
			out = append(out, member(k, m[k]))
		}
		return out, sortUnits(len(m)) + uint(4*len(m))
	}
}

func fromPairs(args ...any) (any, uint) {
	l := needList("fromPairs", args[0])
	out, units := make(map[string]any, len(l)), uint(len(l)*4)
	for i, p := range l {
		pair, ok := p.([]any)
		if !ok || len(pair) != 2 {
			panic(failf("fromPairs needs lists of a key and a value, element %d is not", i))
		}
		k, ok := pair[0].(string)
		if !ok {
			panic(failf("fromPairs needs string keys, element %d has %s", i, kindOf(pair[0])))
		}
		out[k] = pair[1]
		units += hashUnits(k)
	}
	return out, units
}

func reverseValues(args ...any) (any, uint) {
	l := needList("reverse", args[0])
	out := slices.Clone(l)
	slices.Reverse(out)
	return out, uint(len(l))
}

// uniqValues keeps the first of equal values. Lists and objects are told apart
// by their JSON, whose keys are sorted.
func uniqValues(args ...any) (any, uint) {
	l := needList("uniq", args[0])
	type nested struct{ json string }
	seen, units := make(map[any]bool, min(len(l), 1024)), uint(len(l)*5)
	out := make([]any, 0, min(len(l), 1024))
	for _, v := range l {
		key := v
		switch v := v.(type) {
		case []any, map[string]any:
			size, err := treeSize(v, budget*bytesBuilt)
			if units += uint(size) / 2; err != nil || units > budget {
				panic(errBudget)
			}
			key = nested{encodeJSON(v)}
		case float64:
			if v == float64(int(v)) {
				key = int(v) // 1.0 and 1 are one value
			}
		case string:
			units += hashUnits(v)
		}
		if seen[key] {
			continue
		}
		seen[key] = true
		out = append(out, v)
	}
	return out, units
}

// sortValues sorts numbers or strings stably, "asc" or "desc".
func sortValues(args ...any) (any, uint) {
	l := needList("sort", args[0])
	var way any = "asc"
	if len(args) == 2 {
		way = args[1]
	}
	return sorted("sort", l, l, way)
}

// sortByKeys sorts a list by the keys computed for its elements.
func sortByKeys(args ...any) (any, uint) {
	var way any = "asc"
	if len(args) == 3 {
		way = args[2]
	}
	return sorted("sortBy", args[0].([]any), args[1].([]any), way)
}

func sorted(name string, l, keys []any, way any) (any, uint) {
	if way != "asc" && way != "desc" {
		panic(failf(`%s goes "asc" or "desc", found %s`, name, shortQuote(Text(way))))
	}
	type entry struct{ key, value any }
	entries := make([]entry, len(l))
	for i := range l {
		entries[i] = entry{keys[i], l[i]}
	}
	units := sortUnits(len(l))
	if units > budget {
		panic(errBudget)
	}
	slices.SortStableFunc(entries, func(a, b entry) int {
		n, more, err := order(a.key, b.key)
		if units += more; err != nil {
			panic(failf("%s cannot order these: %v", name, err))
		}
		if way == "desc" {
			return -n
		}
		return n
	})
	out := make([]any, len(l))
	for i, e := range entries {
		out[i] = e.value
	}
	return out, units
}

func flattenValues(args ...any) (any, uint) {
	units, out := 0, []any{}
	var open func(l []any, depth int)
	open = func(l []any, depth int) {
		if units += len(l) + 1; units > maxElements {
			panic(errBudget)
		}
		if depth > maxDepth {
			panic(errTooDeep)
		}
		for _, v := range l {
			if inner, ok := v.([]any); ok {
				open(inner, depth+1)
			} else {
				out = append(out, v)
			}
		}
	}
	open(needList("flatten", args[0]), 0)
	return out, uint(units * budget / maxElements)
}

func concatValues(args ...any) (any, uint) {
	out := []any{}
	for _, a := range args {
		if out = append(out, needList("concat", a)...); len(out) > maxElements {
			panic(errBudget)
		}
	}
	return out, uint(len(out) * budget / maxElements)
}

// groupValues makes an object of lists from a list and the keys of its elements.
func groupValues(args ...any) (any, uint) {
	l, keys := args[0].([]any), args[1].([]any)
	out, first := map[string]any{}, map[string]any{}
	for i, k := range keys {
		name := Text(k)
		if other, again := first[name]; again && other != k {
			panic(failf("groupBy has two different keys that both read %s", shortQuote(name)))
		}
		first[name] = k
		group, _ := out[name].([]any)
		out[name] = append(group, l[i])
	}
	return out, uint(len(out) * costObject)
}
