// Checking a value. The first mismatch is reported, in an order that does not
// depend on the order of maps.

package schema

import (
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/graphrun/graphrun/eval"
)

// Bounds of one check: schemas can refer to themselves, so that a small document
// and a small value can ask for endless work.
const (
	maxSteps = 10_000_000
	maxDepth = 50_000
)

// checker is one walk through a value.
type checker struct {
	steps, depth int
}

func fault(parts ...string) *Mismatch { return &Mismatch{Message: strings.Join(parts, "")} }

// under adds a step to the front of the path.
func (m *Mismatch) under(step string) *Mismatch {
	if !m.fatal { // its path could be very long
		m.Path = joinPath(step, m.Path)
	}
	return m
}

// check returns the first fault of v, or nil.
func (c *checker) check(n *node, v any) *Mismatch {
	c.steps++
	if c.steps > maxSteps || c.depth > maxDepth {
		return &Mismatch{Message: "checking the value against the schema takes too many steps", fatal: true}
	}
	c.depth++
	defer func() { c.depth-- }()
	if _, open := v.(eval.Open); open {
		return nil
	}
	switch {
	case n.never:
		return fault(show(v), " is not allowed here: nothing is")
	case !n.types.accept(v):
		return &Mismatch{Message: show(v) + " is not " + n.types.phrase(), types: n.types}
	case n.constant != nil && !equal(v, *n.constant):
		return fault(show(v), " is not ", show(*n.constant))
	case n.enum != nil && !slices.ContainsFunc(n.enum, func(allowed any) bool { return equal(v, allowed) }):
		return fault(show(v), " is not one of ", showAll(n.enum))
	}
	if n.ref != nil {
		if m := c.check(n.ref, v); m != nil {
			return m
		}
	}
	if m := c.checkShape(n, v); m != nil {
		return m
	}
	return c.checkLogic(n, v)
}

// checkShape applies the keywords for the type that v has.
func (c *checker) checkShape(n *node, v any) *Mismatch {
	switch t := v.(type) {
	case int:
		return n.checkNumber(v)
	case float64:
		if !isNumber(v) {
			return fault(show(v), " is not a finite number")
		}
		return n.checkNumber(v)
	case string:
		return n.checkText(t)
	case []any:
		return c.checkList(n, t)
	case map[string]any:
		return c.checkObject(n, t)
	case nil, bool:
		return nil
	}
	return fault(show(v), " is not plain data")
}

func (n *node) checkNumber(v any) *Mismatch {
	switch {
	case n.minimum != nil && compareNumbers(v, n.minimum) < 0:
		return fault(show(v), " is below the minimum of ", show(n.minimum))
	case n.maximum != nil && compareNumbers(v, n.maximum) > 0:
		return fault(show(v), " is above the maximum of ", show(n.maximum))
	case n.above != nil && compareNumbers(v, n.above) <= 0:
		return fault(show(v), " is not above ", show(n.above))
	case n.below != nil && compareNumbers(v, n.below) >= 0:
		return fault(show(v), " is not below ", show(n.below))
	case n.multipleOf != nil && !isMultiple(v, n.multipleOf):
		return fault(show(v), " is not a multiple of ", show(n.multipleOf))
	}
	return nil
}

func (n *node) checkText(v string) *Mismatch {
	switch length := utf8.RuneCountInString(v); {
	case length < n.length.min:
		return fault(show(v), " is shorter than ", plural(n.length.min, "character"))
	case length > n.length.max:
		return fault(show(v), " is longer than ", plural(n.length.max, "character"))
	case n.pattern != nil && !n.pattern.MatchString(v):
		return fault(show(v), " does not match the pattern ", strconv.Quote(n.pattern.String()))
	}
	return nil
}

func (c *checker) checkList(n *node, list []any) *Mismatch {
	if m := n.checkLength(list); m != nil {
		return m
	}
	if n.unique {
		if i, j := duplicate(list); j > 0 {
			return fault("items ", strconv.Itoa(i), " and ", strconv.Itoa(j), " are equal: ", show(list[i]))
		}
	}
	if m := c.checkItems(n, list, 0); m != nil || n.contains == nil {
		return m
	}
	fits := 0
	for _, v := range list {
		if m := c.check(n.contains, v); m == nil {
			fits++
		} else if m.fatal {
			return m
		}
	}
	of, bound := " of at most ", n.found.max
	if fits < n.found.min {
		of, bound = " of at least ", n.found.min
	} else if fits <= n.found.max {
		return nil
	}
	return fault(show(list), " holds ", strconv.Itoa(fits), of, plural(bound, "item"), " that fit ", flow(n.contains.doc))
}

func (n *node) checkLength(list []any) *Mismatch {
	switch {
	case len(list) < n.itemCount.min:
		return fault(show(list), " is shorter than ", plural(n.itemCount.min, "item"))
	case len(list) > n.itemCount.max:
		return fault(show(list), " is longer than ", plural(n.itemCount.max, "item"))
	}
	return nil
}

// checkItems checks the elements from an index on.
func (c *checker) checkItems(n *node, list []any, from int) *Mismatch {
	for i := from; i < len(list); i++ {
		item := n.item(i)
		if item == nil {
			break
		}
		if m := c.check(item, list[i]); m != nil {
			return m.under("[" + strconv.Itoa(i) + "]")
		}
	}
	return nil
}

// duplicate returns the indexes of the first element that equals an earlier one, or
// zeros.
func duplicate(list []any) (earlier, later int) {
	seen := make(map[string]int, len(list))
	for j, v := range list {
		plain, _ := eval.Canonical(v)
		key, _ := eval.AppendJSON(nil, plain)
		if i, ok := seen[string(key)]; ok {
			return i, j
		}
		seen[string(key)] = j
	}
	return 0, 0
}

func (c *checker) checkObject(n *node, object map[string]any) *Mismatch {
	var missing []string
	for _, name := range n.required {
		if _, ok := object[name]; !ok {
			missing = append(missing, strconv.Quote(name))
		}
	}
	switch {
	case len(object) < n.size.min:
		return fault(show(object), " has fewer than ", plural(n.size.min, "property"))
	case len(object) > n.size.max:
		return fault(show(object), " has more than ", plural(n.size.max, "property"))
	case len(missing) == 1:
		return fault(missing[0], " is missing")
	case len(missing) > 1:
		return fault(strings.Join(missing, ", "), " are missing")
	}
	for _, name := range n.names {
		if v, ok := object[name]; ok {
			if m := c.check(n.properties[name], v); m != nil {
				return m.under(nameStep(name))
			}
		}
	}
	if n.patterns == nil && n.additional == nil && n.propertyNames == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if m := c.checkOther(n, name, object[name]); m != nil {
			return m
		}
	}
	return nil
}

// checkOther applies the keywords for names that are not listed in properties.
func (c *checker) checkOther(n *node, name string, v any) *Mismatch {
	if n.propertyNames != nil {
		if m := c.check(n.propertyNames, name); m != nil {
			m.Message = "the name " + m.Message
			return m
		}
	}
	for _, other := range n.others(nil, name) {
		if other.never && other == n.additional {
			allowed := ""
			if len(n.names) > 0 && len(n.names) <= 4*maxShown {
				allowed = "; allowed: " + strings.Join(n.names, ", ")
			}
			return fault("unknown property ", strconv.Quote(name), allowed)
		}
		if m := c.check(other, v); m != nil {
			return m.under(nameStep(name))
		}
	}
	return nil
}

// others appends the schemas of a name, except the one in properties.
func (n *node) others(dst []*node, name string) []*node {
	_, known := n.properties[name]
	for _, rule := range n.patterns {
		if rule.pattern.MatchString(name) {
			known = true
			dst = append(dst, rule.node)
		}
	}
	if !known && n.additional != nil {
		dst = append(dst, n.additional)
	}
	return dst
}

func (c *checker) checkLogic(n *node, v any) *Mismatch {
	for _, sub := range n.allOf {
		if m := c.check(sub, v); m != nil {
			return m
		}
	}
	if n.anyOf != nil {
		if _, m := c.firstFit(n.anyOf, v); m != nil {
			return m
		}
	}
	if n.oneOf != nil {
		if m := c.checkOneOf(n.oneOf, v); m != nil {
			return m
		}
	}
	if n.not != nil {
		if m := c.check(n.not, v); m == nil {
			return fault(show(v), " fits what is excluded: ", flow(n.not.doc))
		} else if m.fatal {
			return m
		}
	}
	if n.ifNode == nil {
		return nil
	}
	branch := n.then
	if m := c.check(n.ifNode, v); m != nil && m.fatal {
		return m
	} else if m != nil {
		branch = n.orElse
	}
	if branch == nil {
		return nil
	}
	return c.check(branch, v)
}

// firstFit returns the index of the first alternative that accepts v.
func (c *checker) firstFit(alternatives []*node, v any) (int, *Mismatch) {
	var failed []*Mismatch
	for i, n := range alternatives {
		m := c.check(n, v)
		if m == nil {
			return i, nil
		}
		if m.fatal {
			return -1, m
		}
		failed = append(failed, m)
	}
	return -1, noneFits(failed, v)
}

func (c *checker) checkOneOf(alternatives []*node, v any) *Mismatch {
	first, m := c.firstFit(alternatives, v)
	if m != nil {
		return m
	}
	second, m := c.firstFit(alternatives[first+1:], v)
	switch {
	case second >= 0:
		return fault(show(v), " fits alternatives ", strconv.Itoa(first+1), " and ",
			strconv.Itoa(first+second+2), " of oneOf, where exactly one must fit")
	case m != nil && m.fatal:
		return m
	}
	return nil
}

// noneFits says in one sentence why no alternative fits.
func noneFits(failed []*Mismatch, v any) *Mismatch {
	var types typeSet
	onlyTypes := true
	texts := make([]string, 0, len(failed))
	for i, m := range failed {
		types |= m.types
		onlyTypes = onlyTypes && m.types != 0 && m.Path == ""
		texts = append(texts, "("+strconv.Itoa(i+1)+") "+m.Error())
	}
	switch {
	case len(failed) == 0:
		return nil
	case len(failed) == 1:
		return failed[0]
	case onlyTypes:
		return &Mismatch{Message: show(v) + " is not " + types.phrase(), types: types}
	case len(texts) > maxShown:
		texts = append(texts[:maxShown], "…")
	}
	return fault(show(v), " fits none of ", strconv.Itoa(len(failed)), " alternatives: ", strings.Join(texts, "; "))
}

// equal compares plain data; 1 and 1.0 are one number.
func equal(a, b any) bool {
	if s, ok := a.(string); ok {
		return s == b
	}
	x, err := eval.Canonical(a)
	y, err2 := eval.Canonical(b)
	return err == nil && err2 == nil && reflect.DeepEqual(x, y)
}

// typeSet is a set of JSON types; the empty set allows every type.
type typeSet uint8

const (
	typeNull typeSet = 1 << iota
	typeBoolean
	typeInteger
	typeNumber
	typeString
	typeArray
	typeObject
)

// accept reports whether v has one of the types. A float64 with a whole value is
// an integer; an infinity or NaN has no type.
func (t typeSet) accept(v any) bool {
	if t == 0 {
		return true
	}
	switch v := v.(type) {
	case int:
		return t&(typeInteger|typeNumber) != 0
	case string:
		return t&typeString != 0
	case bool:
		return t&typeBoolean != 0
	case float64:
		return isNumber(v) && (t&typeNumber != 0 || t&typeInteger != 0 && v == math.Trunc(v))
	case nil:
		return t&typeNull != 0
	case []any:
		return t&typeArray != 0
	case map[string]any:
		return t&typeObject != 0
	}
	return false
}
