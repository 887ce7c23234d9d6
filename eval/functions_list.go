// Functions on lists and objects. Whatever comes from an object is in the
// order of its sorted keys.

package eval

import (
	"maps"
	"math/bits"
	"slices"
	"unicode/utf8"
)

func needList(name string, v any) ([]any, error) {
	if l, ok := v.([]any); ok {
		return l, nil
	}
	return nil, failf("%s needs a list, found %s", name, kindOf(v))
}

func needObject(name string, v any) (map[string]any, error) {
	if m, ok := v.(map[string]any); ok {
		return m, nil
	}
	return nil, failf("%s needs an object, found %s", name, kindOf(v))
}

// sortUnits is the cost of sorting n values.
func sortUnits(n int) uint { return uint(n * bits.Len(uint(n)) * 2) }

// lenValue counts characters, elements or members.
func lenValue(args ...any) (any, uint, error) {
	switch v := args[0].(type) {
	case string:
		return utf8.RuneCountInString(v), uint(len(v) / 16), nil
	case []any:
		return len(v), 0, nil
	case map[string]any:
		return len(v), 0, nil
	}
	return nil, 0, failf("len needs a string, a list or an object, found %s", kindOf(args[0]))
}

func endOf(name string) charged {
	return func(args ...any) (any, uint, error) {
		if args[0] == nil {
			return nil, 0, nil
		}
		l, err := needList(name, args[0])
		if err != nil || len(l) == 0 {
			return nil, 0, err
		}
		if name == "first" {
			return l[0], 0, nil
		}
		return l[len(l)-1], 0, nil
	}
}

func takeValues(args ...any) (any, uint, error) {
	l, err := needList("take", args[0])
	if err != nil {
		return nil, 0, err
	}
	n := min(max(wholeNumber("take", args[1]), 0), len(l))
	return l[:n:n], 0, nil
}

// sliceValue is base[from:to] of lists and, by characters, of strings; null
// ends are open and negative ones count from the end.
func sliceValue(args ...any) (any, uint, error) {
	switch v := args[0].(type) {
	case []any:
		from, to := sliceEnds(args[1], args[2], len(v))
		return v[from:to:to], 0, nil
	case string:
		if len(v)/bytesBuilt > budget {
			return nil, 0, errBudget
		}
		chars := []rune(v)
		from, to := sliceEnds(args[1], args[2], len(chars))
		return string(chars[from:to]), built(len(v) * 2), nil
	}
	return nil, 0, failf("only lists and strings have slices, found %s", kindOf(args[0]))
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
func makeRange(args ...any) (any, uint, error) {
	a, b := wholeNumber("..", args[0]), wholeNumber("..", args[1])
	if a > b {
		return []any{}, 0, nil
	}
	if b-a >= maxElements {
		return nil, 0, errBudget
	}
	out := make([]any, b-a+1)
	for i := range out {
		out[i] = a + i
	}
	return out, uint(len(out) * budget / maxElements), nil
}

func keysOf(args ...any) (any, uint, error) {
	m, err := needObject("keys", args[0])
	if err != nil {
		return nil, 0, err
	}
	out := make([]any, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, k)
	}
	return out, sortUnits(len(m)), nil
}

func valuesOf(args ...any) (any, uint, error) {
	m, err := needObject("values", args[0])
	if err != nil {
		return nil, 0, err
	}
	out := make([]any, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[k])
	}
	return out, sortUnits(len(m)), nil
}

func toPairs(args ...any) (any, uint, error) {
	m, err := needObject("toPairs", args[0])
	if err != nil {
		return nil, 0, err
	}
	out := make([]any, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, []any{k, m[k]})
	}
	return out, sortUnits(len(m)) + uint(4*len(m)), nil
}

func fromPairs(args ...any) (any, uint, error) {
	l, err := needList("fromPairs", args[0])
	if err != nil {
		return nil, 0, err
	}
	out, units := make(map[string]any, len(l)), uint(len(l)*4)
	for i, p := range l {
		pair, ok := p.([]any)
		if !ok || len(pair) != 2 {
			return nil, 0, failf("fromPairs needs lists of a key and a value, element %d is not", i)
		}
		k, ok := pair[0].(string)
		if !ok {
			return nil, 0, failf("fromPairs needs string keys, element %d has %s", i, kindOf(pair[0]))
		}
		out[k] = pair[1]
		units += hashUnits(k)
	}
	return out, units, nil
}

func reverseValues(args ...any) (any, uint, error) {
	l, err := needList("reverse", args[0])
	if err != nil {
		return nil, 0, err
	}
	out := slices.Clone(l)
	slices.Reverse(out)
	return out, uint(len(l)), nil
}

// uniqValues keeps the first of equal values. Lists and objects are told apart
// by their JSON, whose keys are sorted.
func uniqValues(args ...any) (any, uint, error) {
	l, err := needList("uniq", args[0])
	if err != nil {
		return nil, 0, err
	}
	type nested struct{ json string }
	seen, units := make(map[any]bool, min(len(l), 1024)), uint(len(l)*5)
	out := make([]any, 0, min(len(l), 1024))
	for _, v := range l {
		key := v
		switch v := v.(type) {
		case []any, map[string]any:
			size, err := treeSize(v, budget*bytesBuilt)
			if units += uint(size) / 2; err != nil || units > budget {
				return nil, 0, errBudget
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
	return out, units, nil
}

// sortValues sorts numbers or strings stably, "asc" or "desc".
func sortValues(args ...any) (any, uint, error) {
	l, err := needList("sort", args[0])
	if err != nil {
		return nil, 0, err
	}
	var way any = "asc"
	if len(args) == 2 {
		way = args[1]
	}
	return sorted("sort", l, l, way)
}

// sortByKeys sorts a list by the keys computed for its elements.
func sortByKeys(args ...any) (any, uint, error) {
	l, err := needList("sortBy", args[0])
	if err != nil {
		return nil, 0, err
	}
	keys, err := needList("sortBy", args[1])
	if err != nil {
		return nil, 0, err
	}
	return sorted("sortBy", l, keys, args[2])
}

func sorted(name string, l, keys []any, way any) (any, uint, error) {
	if way != "asc" && way != "desc" {
		return nil, 0, failf(`%s goes "asc" or "desc", found %s`, name, shortQuote(Text(way)))
	}
	type entry struct{ key, value any }
	entries := make([]entry, len(l))
	for i := range l {
		entries[i] = entry{keys[i], l[i]}
	}
	units := sortUnits(len(l))
	if units > budget {
		return nil, 0, errBudget
	}
	var failed error
	slices.SortStableFunc(entries, func(a, b entry) int {
		n, more, err := order(a.key, b.key)
		if units += more; err != nil && failed == nil {
			failed = failf("%s cannot order these: %v", name, err)
		}
		if way == "desc" {
			return -n
		}
		return n
	})
	if failed != nil {
		return nil, 0, failed
	}
	out := make([]any, len(l))
	for i, e := range entries {
		out[i] = e.value
	}
	return out, units, nil
}

func flattenValues(args ...any) (any, uint, error) {
	l, err := needList("flatten", args[0])
	if err != nil {
		return nil, 0, err
	}
	units := 0
	var out []any
	var open func(l []any, depth int) error
	open = func(l []any, depth int) error {
		if units += len(l) + 1; units > maxElements {
			return errBudget
		}
		if depth > maxDepth {
			return errTooDeep
		}
		for _, v := range l {
			inner, ok := v.([]any)
			if !ok {
				out = append(out, v)
				continue
			}
			if err := open(inner, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	if err := open(l, 0); err != nil {
		return nil, 0, err
	}
	return append([]any{}, out...), uint(units * budget / maxElements), nil
}

func concatValues(args ...any) (any, uint, error) {
	var out []any
	for _, a := range args {
		l, err := needList("concat", a)
		if err != nil {
			return nil, 0, err
		}
		if out = append(out, l...); len(out) > maxElements {
			return nil, 0, errBudget
		}
	}
	return append([]any{}, out...), uint(len(out) * budget / maxElements), nil
}

// groupValues turns the library's groups into an object with string keys.
func groupValues(args ...any) (any, uint, error) {
	groups, ok := args[0].(map[any][]any)
	if !ok {
		return nil, 0, failf("groupBy needs a list, found %s", kindOf(args[0]))
	}
	out := make(map[string]any, len(groups))
	for k, l := range groups {
		name := Text(k)
		if _, twice := out[name]; twice {
			return nil, 0, failf("groupBy has two different keys that both read %s", shortQuote(name))
		}
		out[name] = l
	}
	return out, uint(len(groups) * costObject), nil
}
