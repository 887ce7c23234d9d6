// Checking lists.

package schema

import (
	"slices"
	"strconv"
)

func (c *checker) checkList(r *listRules, list []any) *problem {
	if r == nil {
		return nil
	}
	if p := c.checkLength(r, list); p != nil {
		return p
	}
	if r.unique {
		if i, j := duplicate(list); j > 0 {
			return fault("items " + strconv.Itoa(i) + " and " + strconv.Itoa(j) + " are equal: " + show(list[i]))
		}
	}
	if p := c.checkItems(r, list, 0); p != nil {
		return p
	}
	if r.contains != nil {
		return c.checkContains(r, list)
	}
	return nil
}

func (c *checker) checkLength(r *listRules, list []any) *problem {
	if len(list) < r.minItems {
		return fault(show(list) + " is shorter than " + plural(r.minItems, "item"))
	}
	if r.maxItems >= 0 && len(list) > r.maxItems {
		return fault(show(list) + " is longer than " + plural(r.maxItems, "item"))
	}
	return nil
}

// checkItems checks the elements from an index on.
func (c *checker) checkItems(r *listRules, list []any, from int) *problem {
	if r.items == nil && from >= len(r.prefix) {
		return nil
	}
	for i := from; i < len(list); i++ {
		n := r.item(i)
		if n == nil {
			break
		}
		if p := c.check(n, list[i]); p != nil {
			return p.under(step{index: i, isIndex: true})
		}
	}
	return nil
}

// item is the schema of the element at an index, or nil.
func (r *listRules) item(i int) *node {
	if i < len(r.prefix) {
		return r.prefix[i]
	}
	return r.items
}

func (c *checker) checkContains(r *listRules, list []any) *problem {
	fits := 0
	for _, v := range list {
		p := c.check(r.contains, v)
		if p == nil {
			fits++
		} else if p.fatal {
			return p
		}
	}
	if fits < r.minContains {
		return fault(show(list) + " holds " + strconv.Itoa(fits) + " of at least " +
			plural(r.minContains, "item") + " that fit " + flow(r.contains.doc))
	}
	if r.maxContains >= 0 && fits > r.maxContains {
		return fault(show(list) + " holds " + strconv.Itoa(fits) + " of at most " +
			plural(r.maxContains, "item") + " that fit " + flow(r.contains.doc))
	}
	return nil
}

// duplicate finds the first element that equals an earlier one: both indexes,
// or zeros.
func duplicate(list []any) (earlier, later int) {
	if len(list) <= 16 {
		for j := range list {
			if i := slices.IndexFunc(list[:j], func(v any) bool { return equal(v, list[j]) }); i >= 0 {
				return i, j
			}
		}
		return 0, 0
	}
	seen := make(map[string]int, len(list))
	var key []byte
	for j, v := range list {
		key = appendKey(key[:0], v)
		if i, ok := seen[string(key)]; ok {
			return i, j
		}
		seen[string(key)] = j
	}
	return 0, 0
}
