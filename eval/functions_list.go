// Functions on lists and objects. They visit members in the order of sorted keys.

package eval

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"unicode/utf8"
)

// spendSort charges for sorting n values.
func (f *frame) spendSort(n int) { f.spend(n * bits.Len(uint(n)) * 2) }

// spendList charges for a list of n elements.
func (f *frame) spendList(n int) {
	if n > maxElements {
		panic(errBudget)
	}
	f.spend(n * budget / maxElements)
}

// lenValue counts characters, elements or members.
func lenValue(f *frame, a []any) any {
	switch v := a[0].(type) {
	case []any:
		return len(v)
	case map[string]any:
		return len(v)
	}
	s := a[0].(string)
	f.spend(len(s) / 16)
	return utf8.RuneCountInString(s)
}

func getValue(f *frame, a []any) any {
	if k, ok := a[1].(string); ok {
		f.spendRead(len(k))
	}
	return memberOrNull(a[0], a[1])
}

// newElementReader returns the function first or last. It returns null for null and for an empty list.
func newElementReader(index int) operation {
	return func(_ *frame, a []any) any {
		l, _ := a[0].([]any)
		return memberOrNull(l, index)
	}
}

func takeValues(_ *frame, a []any) any {
	l := a[0].([]any)
	n := min(max(wholeNumber("take", a[1]), 0), len(l))
	return l[:n:n]
}

// sliceValue returns base[from:to] of a list, or of a string by characters. A null bound is open,
// and a negative one counts from the end.
func sliceValue(f *frame, a []any) any {
	switch v := a[0].(type) {
	case []any:
		from, to := sliceEnds(a[1], a[2], len(v))
		return v[from:to:to]
	case string:
		f.spendText(len(v) * 2)
		chars := []rune(v)
		from, to := sliceEnds(a[1], a[2], len(chars))
		return string(chars[from:to])
	}
	panic(fmt.Errorf("only lists and strings have slices, found %s", kindOf(a[0])))
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

// makeRange returns a..b with both ends, or an empty list if b is less.
func makeRange(f *frame, from, to any) any {
	a, b := wholeNumber("..", from), wholeNumber("..", to)
	if a > b {
		return []any{}
	}
	f.spendList(b - a + 1)
	out := make([]any, b-a+1)
	for i := range out {
		out[i] = a + i
	}
	return out
}

// newMemberList returns the function keys, values or toPairs.
func newMemberList(member func(key string, value any) any) operation {
	return func(f *frame, a []any) any {
		m := a[0].(map[string]any)
		f.spendSort(len(m))
		f.spend(4 * len(m))
		out := make([]any, 0, len(m))
		for _, k := range slices.Sorted(maps.Keys(m)) {
			out = append(out, member(k, m[k]))
		}
		return out
	}
}

func fromPairs(f *frame, a []any) any {
	l := a[0].([]any)
	f.spend(len(l) * 4)
	out := make(map[string]any, len(l))
	for i, p := range l {
		pair, ok := p.([]any)
		if !ok || len(pair) != 2 {
			panic(fmt.Errorf("fromPairs needs lists of a key and a value, element %d is not", i))
		}
		k, ok := pair[0].(string)
		if !ok {
			panic(fmt.Errorf("fromPairs needs string keys, element %d has %s", i, kindOf(pair[0])))
		}
		f.spendRead(len(k))
		out[k] = pair[1]
	}
	return out
}

func reverseValues(f *frame, a []any) any {
	out := slices.Clone(a[0].([]any))
	f.spend(len(out))
	slices.Reverse(out)
	return out
}

// uniqValues keeps the first of equal values. It compares lists and objects by their JSON.
func uniqValues(f *frame, a []any) any {
	type nested struct{ json string }
	l := a[0].([]any)
	f.spend(len(l) * 5)
	seen, out := map[any]bool{}, []any{}
	for _, v := range l {
		key := v
		switch v := v.(type) {
		case []any, map[string]any:
			size, err := treeSize(v, budget*bytesBuilt)
			if err != nil {
				panic(errBudget)
			}
			f.spend(size / 2)
			key = nested{encodeJSON(v)}
		case float64:
			if v == float64(int(v)) {
				key = int(v) // 1.0 and 1 are one value
			}
		case string:
			f.spendRead(len(v))
		}
		if !seen[key] {
			seen[key] = true
			out = append(out, v)
		}
	}
	return out
}

// sortValues sorts numbers or strings stably.
func sortValues(f *frame, a []any) any {
	return sortByKeys(f, "sort", a[0].([]any), a[0].([]any), a[1:])
}

// sortByKeys sorts a list by keys, one for each element. order may hold "asc" (the default) or "desc".
func sortByKeys(f *frame, name string, l, keys, order []any) []any {
	descending := len(order) > 0 && order[0] == "desc"
	if len(order) > 0 && order[0] != "asc" && !descending {
		panic(fmt.Errorf(`%s goes "asc" or "desc", found %s`, name, quoteShort(Text(order[0]))))
	}
	type entry struct{ key, value any }
	entries := make([]entry, len(l))
	for i := range l {
		entries[i] = entry{keys[i], l[i]}
	}
	f.spendSort(len(l))
	slices.SortStableFunc(entries, func(a, b entry) int {
		n, ok := f.compareOrder(a.key, b.key)
		if !ok {
			panic(fmt.Errorf("%s cannot order these: cannot order %s and %s", name, kindOf(a.key), kindOf(b.key)))
		}
		if descending {
			return -n
		}
		return n
	})
	out := make([]any, len(l))
	for i, e := range entries {
		out[i] = e.value
	}
	return out
}

func flattenValues(f *frame, a []any) any {
	out := []any{}
	var add func(l []any, depth int)
	add = func(l []any, depth int) {
		if f.spendList(len(l) + 1); depth > maxDepth {
			panic(errTooDeep)
		}
		for _, v := range l {
			if inner, ok := v.([]any); ok {
				add(inner, depth+1)
			} else {
				out = append(out, v)
			}
		}
	}
	add(a[0].([]any), 0)
	return out
}

func concatValues(f *frame, a []any) any {
	out := []any{}
	for _, l := range a {
		f.spendList(len(l.([]any)))
		out = append(out, l.([]any)...)
	}
	return out
}
