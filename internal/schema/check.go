// Checking a value: types, numbers, strings and the way through subschemas.

package schema

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// What one check may cost: schemas can refer to themselves, so that a small
// document and a small value can ask for work without end.
const (
	maxSteps = 10_000_000
	maxDepth = 50_000
)

// checker is one check. It reports the first mismatch, in an order that does
// not depend on the order of maps.
type checker struct {
	steps, depth int
}

// problem is a mismatch whose path grows while the check returns to the top.
type problem struct {
	path    []step // innermost first
	message string
	// types is set where the type alone is wrong, so that alternatives can be
	// told in one sentence.
	types typeSet
	// fatal problems are about the check, not about the value.
	fatal bool
}

// step is one step into a value: an index when isIndex is set, else a name.
type step struct {
	name    string
	index   int
	isIndex bool
}

func fault(message string) *problem { return &problem{message: message} }

func (p *problem) under(s step) *problem {
	p.path = append(p.path, s)
	return p
}

func (p *problem) mismatch() *Mismatch {
	slices.Reverse(p.path)
	return &Mismatch{Path: stepText(p.path), Message: p.message}
}

// check tells what n has against v; nil is nothing.
func (c *checker) check(n *node, v any) *problem {
	c.steps++
	if c.steps > maxSteps || c.depth > maxDepth {
		return &problem{message: "checking the value against the schema takes too many steps", fatal: true}
	}
	c.depth++
	p := c.checkNode(n, v)
	c.depth--
	return p
}

func (c *checker) checkNode(n *node, v any) *problem {
	if n.never {
		return fault(show(v) + " is not allowed here: nothing is")
	}
	if !n.types.accepts(v) {
		return &problem{message: show(v) + " is not " + n.types.phrase(), types: n.types}
	}
	if n.enum != nil || n.constant != nil {
		if p := checkEnum(n, v); p != nil {
			return p
		}
	}
	if n.ref != nil {
		if p := c.check(n.ref, v); p != nil {
			return p
		}
	}
	if p := c.checkShape(n, v); p != nil {
		return p
	}
	if n.logic != nil {
		return c.checkLogic(n.logic, v)
	}
	return nil
}

// checkShape runs the rules that are about the type v has.
func (c *checker) checkShape(n *node, v any) *problem {
	switch t := v.(type) {
	case int:
		return checkNumber(n.number, v)
	case float64:
		if t-t != 0 {
			return fault(show(v) + " is not a finite number")
		}
		return checkNumber(n.number, v)
	case string:
		return checkText(n.text, t)
	case []any:
		return c.checkList(n.list, t)
	case map[string]any:
		return c.checkObject(n.object, t)
	case nil, bool:
		return nil
	}
	return fault(show(v) + " is not plain data")
}

func checkEnum(n *node, v any) *problem {
	if n.constant != nil && !equal(v, n.constant.value) {
		return fault(show(v) + " is not " + show(n.constant.value))
	}
	if n.enum == nil || slices.ContainsFunc(n.enum, func(allowed any) bool { return equal(v, allowed) }) {
		return nil
	}
	return fault(show(v) + " is not one of " + showAll(n.enum))
}

func checkNumber(r *numberRules, v any) *problem {
	switch {
	case r == nil:
		return nil
	case r.minimum != nil && compareNumbers(v, r.minimum) < 0:
		return fault(show(v) + " is below the minimum of " + show(r.minimum))
	case r.maximum != nil && compareNumbers(v, r.maximum) > 0:
		return fault(show(v) + " is above the maximum of " + show(r.maximum))
	case r.above != nil && compareNumbers(v, r.above) <= 0:
		return fault(show(v) + " is not above " + show(r.above))
	case r.below != nil && compareNumbers(v, r.below) >= 0:
		return fault(show(v) + " is not below " + show(r.below))
	case r.multipleOf != nil && !isMultiple(v, r.multipleOf):
		return fault(show(v) + " is not a multiple of " + show(r.multipleOf))
	}
	return nil
}

func checkText(r *textRules, v string) *problem {
	if r == nil {
		return nil
	}
	if r.minLength > 0 || r.maxLength >= 0 {
		length := utf8.RuneCountInString(v)
		if length < r.minLength {
			return fault(show(v) + " is shorter than " + plural(r.minLength, "character"))
		}
		if r.maxLength >= 0 && length > r.maxLength {
			return fault(show(v) + " is longer than " + plural(r.maxLength, "character"))
		}
	}
	if r.pattern != nil && !r.pattern.MatchString(v) {
		return fault(show(v) + " does not match the pattern " + strconv.Quote(r.pattern.String()))
	}
	return nil
}

func (c *checker) checkLogic(l *logicRules, v any) *problem {
	for _, n := range l.allOf {
		if p := c.check(n, v); p != nil {
			return p
		}
	}
	if l.anyOf != nil {
		if _, p := c.firstFit(l.anyOf, v); p != nil {
			return p
		}
	}
	if l.oneOf != nil {
		if p := c.checkOneOf(l.oneOf, v); p != nil {
			return p
		}
	}
	if l.not != nil {
		p := c.check(l.not, v)
		if p == nil {
			return fault(show(v) + " fits what is excluded: " + flow(l.not.doc))
		}
		if p.fatal {
			return p
		}
	}
	return c.checkIf(l, v)
}

func (c *checker) checkIf(l *logicRules, v any) *problem {
	if l.ifNode == nil {
		return nil
	}
	p := c.check(l.ifNode, v)
	branch := l.then
	if p != nil {
		if p.fatal {
			return p
		}
		branch = l.orElse
	}
	if branch == nil {
		return nil
	}
	return c.check(branch, v)
}

// firstFit is the index of the first alternative that accepts v.
func (c *checker) firstFit(alternatives []*node, v any) (int, *problem) {
	var failed []*problem
	for i, n := range alternatives {
		p := c.check(n, v)
		if p == nil {
			return i, nil
		}
		if p.fatal {
			return -1, p
		}
		failed = append(failed, p)
	}
	return -1, noneFits(failed, v)
}

func (c *checker) checkOneOf(alternatives []*node, v any) *problem {
	first, p := c.firstFit(alternatives, v)
	if p != nil {
		return p
	}
	for i, n := range alternatives[first+1:] {
		p := c.check(n, v)
		if p == nil {
			return fault(show(v) + " fits alternatives " + strconv.Itoa(first+1) + " and " +
				strconv.Itoa(first+i+2) + " of oneOf, where exactly one must fit")
		}
		if p.fatal {
			return p
		}
	}
	return nil
}

// noneFits tells in one sentence why no alternative fits.
func noneFits(failed []*problem, v any) *problem {
	if len(failed) == 1 {
		return failed[0]
	}
	var types typeSet
	for _, p := range failed {
		if p.types == 0 || len(p.path) > 0 {
			types = 0
			break
		}
		types |= p.types
	}
	if types != 0 {
		return &problem{message: show(v) + " is not " + types.phrase(), types: types}
	}
	var b strings.Builder
	b.WriteString(show(v) + " fits none of " + strconv.Itoa(len(failed)) + " alternatives: ")
	for i, p := range failed {
		if i == maxShown {
			b.WriteString("; …")
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString("(" + strconv.Itoa(i+1) + ") " + p.mismatch().Error())
	}
	return fault(b.String())
}
