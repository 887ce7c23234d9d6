// The table of keywords, with functions that read and check each.

package schema

import (
	"cmp"
	"maps"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/graphrun/graphrun/eval"
)

// keyword is a keyword of JSON Schema.
type keyword struct {
	name  string
	whole bool // the keyword applies to whole lists, not to single elements
	read  reader
}

// reader compiles the value of a keyword into a node. at is the path of the keyword. It returns the
// check of the keyword, or nil if another keyword does the check.
type reader func(c *compiler, n *node, value any, at []string) check

// keywords lists all keywords in the order of their checks.
var keywords = []keyword{
	{"type", false, readTypes},
	{"const", true, readConst},
	{"enum", true, readEnum},
	{"$ref", true, readRef},
	{"minimum", false, newNumberLimit(" is below the minimum of ", func(order int) bool { return order < 0 })},
	{"maximum", false, newNumberLimit(" is above the maximum of ", func(order int) bool { return order > 0 })},
	{"exclusiveMinimum", false, newNumberLimit(" is not above ", func(order int) bool { return order <= 0 })},
	{"exclusiveMaximum", false, newNumberLimit(" is not below ", func(order int) bool { return order >= 0 })},
	{"multipleOf", false, readMultipleOf},
	{"minLength", false, newSizeLimit(typeString, -1, " is shorter than ", "character")},
	{"maxLength", false, newSizeLimit(typeString, 1, " is longer than ", "character")},
	{"pattern", false, readPattern},
	{"minItems", false, newSizeLimit(typeArray, -1, " is shorter than ", "item")},
	{"maxItems", false, newSizeLimit(typeArray, 1, " is longer than ", "item")},
	{"uniqueItems", true, readUnique},
	{"prefixItems", false, readPrefix},
	{"items", false, readItems},
	{"contains", true, readContains},
	{"minContains", false, readInto(func(n *node) *int { return &n.minContains }, (*compiler).readCount)},
	{"maxContains", false, readInto(func(n *node) *int { return &n.maxContains }, (*compiler).readCount)},
	{"minProperties", false, newSizeLimit(typeObject, -1, " has fewer than ", "property")},
	{"maxProperties", false, newSizeLimit(typeObject, 1, " has more than ", "property")},
	{"required", false, readRequired},
	{"properties", false, readProperties},
	{"patternProperties", false, readPatterns},
	{"additionalProperties", false, readAdditional},
	{"propertyNames", false, readNames},
	{"allOf", true, readAllOf},
	{"anyOf", true, readAnyOf},
	{"oneOf", true, readOneOf},
	{"not", true, readNot},
	{"if", true, readIf},
	{"then", false, readInto(func(n *node) **node { return &n.then }, (*compiler).compileNode)},
	{"else", false, readInto(func(n *node) **node { return &n.orElse }, (*compiler).compileNode)},
	{"$defs", false, readDefinitions},
	{"definitions", false, readDefinitions},
	{"$anchor", false, readAnchor},
	{"$id", false, readID},
}

// annotations lists the keywords that check nothing.
var annotations = strings.Fields("$comment $schema contentEncoding contentMediaType contentSchema default deprecated " +
	"description examples format readOnly title writeOnly")

// replacementHints maps keywords of other drafts and dialects to hints about their replacement.
var replacementHints = map[string]string{
	"additionalItems":       `; what follows prefixItems is described by "items"`,
	"dependencies":          `; use "if" and "then"`,
	"dependentRequired":     `; use "if" and "then"`,
	"dependentSchemas":      `; use "if" and "then"`,
	"unevaluatedItems":      `; use "items" or "additionalProperties"`,
	"unevaluatedProperties": `; use "items" or "additionalProperties"`,
	"$dynamicRef":           `; only "$ref" inside the document is supported`,
	"$recursiveRef":         `; only "$ref" inside the document is supported`,
	"nullable":              "; name the type null instead: type: [string, null]",
}

// failIf returns a check that rejects values for which wrong is true.
func failIf(wrong func(v any) bool, message string) check {
	return func(_ *checker, v any) *Mismatch {
		if wrong(v) {
			return newMismatch(formatValue(v), message)
		}
		return nil
	}
}

func newMismatch(parts ...string) *Mismatch { return &Mismatch{Message: strings.Join(parts, "")} }

// typeSet is a set of JSON types. The empty set allows every type.
type typeSet uint8

// typeName holds a type's name in a schema, and its phrase after "is not" in messages.
type typeName struct{ name, phrase string }

// typeNames lists the types in the order of messages. The i-th type is 1<<i in a typeSet.
var typeNames = []typeName{
	{"string", "a string"},
	{"boolean", "true or false"},
	{"integer", "an integer"},
	{"number", "a number"},
	{"array", "a list"},
	{"object", "an object"},
	{"null", "null"},
}

const (
	typeString typeSet = 1 << iota
	typeBoolean
	typeInteger
	typeNumber
	typeArray
	typeObject
	typeNull
)

// findTypes returns the types of a value. A float64 without a fraction is also an integer.
func findTypes(v any) typeSet {
	switch v := v.(type) {
	case int:
		return typeInteger | typeNumber
	case float64:
		if v == math.Trunc(v) {
			return typeInteger | typeNumber
		}
		return typeNumber
	case string:
		return typeString
	case bool:
		return typeBoolean
	case []any:
		return typeArray
	case map[string]any:
		return typeObject
	}
	return typeNull
}

func readTypes(c *compiler, n *node, value any, at []string) check {
	names, ok := value.([]any)
	if !ok {
		names = []any{value}
	}
	if len(names) == 0 {
		c.setError(at, "an empty list allows no value; name at least one type")
	}
	for _, name := range names {
		i := slices.IndexFunc(typeNames, func(t typeName) bool { return t.name == name })
		if i < 0 {
			c.setError(at, "%s is not a type; allowed: array, boolean, integer, null, number, object, string", formatValue(name))
			return nil
		}
		n.types |= 1 << i
	}
	return func(_ *checker, v any) *Mismatch {
		if n.types&findTypes(v) == 0 {
			return &Mismatch{Message: formatValue(v) + " is not " + n.types.formatTypes(), types: n.types}
		}
		return nil
	}
}

func readConst(_ *compiler, _ *node, value any, _ []string) check {
	return failIf(func(v any) bool { return !isEqual(v, value) }, " is not "+formatValue(value))
}

func readEnum(c *compiler, n *node, value any, at []string) check {
	values, ok := value.([]any)
	if !ok || len(values) == 0 {
		c.setError(at, "%s is not a list with at least one value", formatValue(value))
	}
	return failIf(func(v any) bool {
		return !slices.ContainsFunc(values, func(allowed any) bool { return isEqual(v, allowed) })
	}, " is not one of "+formatList(values))
}

// isEqual compares plain data. 1 equals 1.0.
func isEqual(a, b any) bool {
	if s, ok := a.(string); ok {
		return s == b
	}
	x, err := eval.Canonical(a)
	y, err2 := eval.Canonical(b)
	return err == nil && err2 == nil && reflect.DeepEqual(x, y)
}

// newNumberLimit returns the reader of a limit of numbers. refuses decides by the result of comparing a
// number with the limit.
func newNumberLimit(message string, refuses func(order int) bool) reader {
	return func(c *compiler, _ *node, limit any, at []string) check {
		if !isNumber(limit) {
			c.setError(at, "%s is not a number", formatValue(limit))
		}
		return failIf(func(v any) bool { return isNumber(v) && refuses(compareNumbers(v, limit)) }, message+formatValue(limit))
	}
}

func readMultipleOf(c *compiler, _ *node, of any, at []string) check {
	if !isNumber(of) {
		c.setError(at, "%s is not a number", formatValue(of))
	} else if compareNumbers(of, 0) <= 0 {
		c.setError(at, "%s is not above 0", formatValue(of))
	}
	return failIf(func(v any) bool { return isNumber(v) && !isMultiple(v, of) }, " is not a multiple of "+formatValue(of))
}

// newSizeLimit returns the reader of a limit of sizes. sign is 1 for a maximum and -1 for a minimum.
func newSizeLimit(of typeSet, sign int, message, noun string) reader {
	return func(c *compiler, _ *node, value any, at []string) check {
		limit := c.readCount(value, at)
		return failIf(func(v any) bool { return findTypes(v) == of && sign*countSize(v) > sign*limit }, message+eval.Count(limit, noun))
	}
}

func countSize(v any) int {
	switch v := v.(type) {
	case string:
		return utf8.RuneCountInString(v)
	case []any:
		return len(v)
	case map[string]any:
		return len(v)
	}
	return 0
}

func readPattern(c *compiler, _ *node, value any, at []string) check {
	pattern := c.compilePattern(value, at)
	return failIf(func(v any) bool {
		text, ok := v.(string)
		return ok && !pattern.MatchString(text)
	}, " does not match the pattern "+formatValue(value))
}

func readUnique(c *compiler, n *node, value any, at []string) check {
	if !readTyped[bool](c, value, at, "is neither true nor false") {
		return nil
	}
	return func(_ *checker, v any) *Mismatch {
		list, _ := v.([]any)
		seen := make(map[string]int, len(list))
		for j, item := range list {
			plain, _ := eval.Canonical(item)
			key, _ := eval.AppendJSON(nil, plain)
			if i, ok := seen[string(key)]; ok {
				return newMismatch("items ", strconv.Itoa(i), " and ", strconv.Itoa(j), " are equal: ", formatValue(list[i]))
			}
			seen[string(key)] = j
		}
		return nil
	}
}

func readPrefix(c *compiler, n *node, value any, at []string) check {
	n.prefix = c.compileList(value, at)
	return func(c *checker, v any) *Mismatch { return c.checkItems(n, v, 0, len(n.prefix)) }
}

func readItems(c *compiler, n *node, value any, at []string) check {
	if _, isList := value.([]any); isList {
		c.setError(at, "a list is not a schema; schemas by position are prefixItems")
	}
	n.items = c.compileNode(value, at)
	return func(c *checker, v any) *Mismatch { return c.checkItems(n, v, len(n.prefix), math.MaxInt) }
}

// checkItems checks the elements of a list from one index up to another.
func (c *checker) checkItems(n *node, v any, from, to int) *Mismatch {
	list, _ := v.([]any)
	if c.depth == 1 {
		from = max(from, c.from)
	}
	for i := from; i < min(to, len(list)); i++ {
		if m := c.check(n.itemSchema(i), list[i]); m != nil {
			return m.addStep(strconv.Itoa(i))
		}
	}
	return nil
}

func readContains(c *compiler, n *node, value any, at []string) check {
	sub := c.compileNode(value, at)
	return func(c *checker, v any) *Mismatch {
		list, ok := v.([]any)
		fits := 0
		for _, item := range list {
			if m := c.check(sub, item); m == nil {
				fits++
			} else if m.fatal {
				return m
			}
		}
		of, bound := " of at least ", n.minContains
		if fits > n.maxContains {
			of, bound = " of at most ", n.maxContains
		} else if !ok || fits >= bound {
			return nil
		}
		return newMismatch(formatValue(list), " holds ", strconv.Itoa(fits), of, eval.Count(bound, "item"), " that fit ", formatFlow(sub.doc, maxFlow))
	}
}

func readRequired(c *compiler, _ *node, value any, at []string) check {
	var required []string
	for i, name := range readTyped[[]any](c, value, at, "is not a list of names") {
		required = append(required, readTyped[string](c, name, appendStep(at, strconv.Itoa(i)), "is not a name"))
	}
	return func(_ *checker, v any) *Mismatch {
		object, ok := v.(map[string]any)
		var missing []string
		for _, name := range required {
			if _, has := object[name]; ok && !has {
				missing = append(missing, strconv.Quote(name))
			}
		}
		switch len(missing) {
		case 0:
			return nil
		case 1:
			return newMismatch(missing[0], " is missing")
		}
		return newMismatch(strings.Join(missing, ", "), " are missing")
	}
}

func readProperties(c *compiler, n *node, value any, at []string) check {
	n.properties = c.compileMap(value, at)
	names := slices.Sorted(maps.Keys(n.properties))
	return func(c *checker, v any) *Mismatch {
		object, _ := v.(map[string]any)
		for _, name := range names {
			if value, ok := object[name]; ok {
				if m := c.check(n.properties[name], value); m != nil {
					return m.addStep(name)
				}
			}
		}
		return nil
	}
}

func readPatterns(c *compiler, n *node, value any, at []string) check {
	nodes := c.compileMap(value, at)
	for _, text := range slices.Sorted(maps.Keys(nodes)) {
		n.patterns = append(n.patterns, patternRule{c.compilePattern(text, appendStep(at, text)), nodes[text]})
	}
	return checkMembers(func(c *checker, name string, value any) *Mismatch {
		return c.checkAll(n.matchPatterns(name), value).addStep(name)
	})
}

func readAdditional(c *compiler, n *node, value any, at []string) check {
	n.additional = c.compileNode(value, at)
	return checkMembers(func(c *checker, name string, value any) *Mismatch {
		switch {
		case n.properties[name] != nil || n.matchPatterns(name) != nil:
			return nil
		case n.additional.doc != false:
			return c.check(n.additional, value).addStep(name)
		}
		allowed := ""
		if len(n.properties) > 0 && len(n.properties) <= 4*maxShown {
			allowed = "; allowed: " + strings.Join(slices.Sorted(maps.Keys(n.properties)), ", ")
		}
		return newMismatch("unknown property ", strconv.Quote(name), allowed)
	})
}

func readNames(c *compiler, _ *node, value any, at []string) check {
	names := c.compileNode(value, at)
	return checkMembers(func(c *checker, name string, _ any) *Mismatch {
		m := c.check(names, name)
		if m != nil {
			m.Message = "the name " + m.Message
		}
		return m
	})
}

// checkMembers returns a check of each member of an object, in the order of the names.
func checkMembers(f func(c *checker, name string, value any) *Mismatch) check {
	return func(c *checker, v any) *Mismatch {
		object, _ := v.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(object)) {
			if m := f(c, name, object[name]); m != nil {
				return m
			}
		}
		return nil
	}
}

func readRef(c *compiler, n *node, value any, at []string) check {
	n.ref = &reference{text: readTyped[string](c, value, at, "is not a reference"), at: at}
	c.refs = append(c.refs, n.ref)
	return func(c *checker, v any) *Mismatch { return c.check(n.ref.target, v) }
}

func readAllOf(c *compiler, n *node, value any, at []string) check {
	n.allOf = c.compileList(value, at)
	return func(c *checker, v any) *Mismatch { return c.checkAll(n.allOf, v) }
}

func readAnyOf(c *compiler, n *node, value any, at []string) check {
	n.anyOf = c.compileList(value, at)
	return func(c *checker, v any) *Mismatch {
		_, m := c.findAlternative(n.anyOf, v)
		return m
	}
}

func readOneOf(c *compiler, n *node, value any, at []string) check {
	n.oneOf = c.compileList(value, at)
	return func(c *checker, v any) *Mismatch {
		first, m := c.findAlternative(n.oneOf, v)
		if m != nil {
			return m
		}
		second, m := c.findAlternative(n.oneOf[first+1:], v)
		switch {
		case second >= 0:
			return newMismatch(formatValue(v), " fits alternatives ", strconv.Itoa(first+1), " and ", strconv.Itoa(first+second+2), " of oneOf, where exactly one must fit")
		case m != nil && m.fatal:
			return m
		}
		return nil
	}
}

// findAlternative returns the index of the first alternative that accepts v, or -1 and the mismatch.
func (c *checker) findAlternative(alternatives []*node, v any) (int, *Mismatch) {
	var types typeSet
	var failed []*Mismatch
	var texts []string
	onlyTypes := true
	for i, n := range alternatives {
		m := c.check(n, v)
		if m == nil || m.fatal {
			return i, m
		}
		failed = append(failed, m)
		types |= m.types
		onlyTypes = onlyTypes && m.types != 0 && m.Path == nil
		texts = append(texts, "("+strconv.Itoa(i+1)+") "+m.Error())
	}
	switch {
	case len(failed) == 0:
		return -1, nil
	case len(failed) == 1:
		return -1, failed[0]
	case onlyTypes:
		return -1, &Mismatch{Message: formatValue(v) + " is not " + types.formatTypes(), types: types}
	case len(texts) > maxShown:
		texts = append(texts[:maxShown], "…")
	}
	return -1, newMismatch(formatValue(v), " fits none of ", strconv.Itoa(len(failed)), " alternatives: ", strings.Join(texts, "; "))
}

func readNot(c *compiler, n *node, value any, at []string) check {
	n.not = c.compileNode(value, at)
	return func(c *checker, v any) *Mismatch {
		if m := c.check(n.not, v); m != nil && !m.fatal {
			return nil
		} else if m != nil {
			return m
		}
		return newMismatch(formatValue(v), " fits what is excluded: ", formatFlow(n.not.doc, maxFlow))
	}
}

func readIf(c *compiler, n *node, value any, at []string) check {
	n.ifNode = c.compileNode(value, at)
	return func(c *checker, v any) *Mismatch {
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
}

// readInto returns the reader of a keyword whose value another keyword checks.
func readInto[T any](field func(n *node) *T, read func(c *compiler, value any, at []string) T) reader {
	return func(c *compiler, n *node, value any, at []string) check {
		*field(n) = read(c, value, at)
		return nil
	}
}

func readDefinitions(c *compiler, _ *node, value any, at []string) check {
	c.compileMap(value, at)
	return nil
}

func readAnchor(c *compiler, n *node, value any, at []string) check {
	name, ok := value.(string)
	switch {
	case !ok || name == "":
		c.setError(at, "%s is not a name", formatValue(value))
	case c.anchors[name] != nil:
		c.setError(at, "the anchor %s is there twice", strconv.Quote(name))
	}
	c.anchors[name] = n
	return nil
}

// readID refuses an $id inside the document, because it would change the meaning of references.
func readID(c *compiler, _ *node, value any, at []string) check {
	if readTyped[string](c, value, at, "is not an address"); len(at) > 1 {
		c.setError(at, "an identity inside a document is not supported; use $anchor")
	}
	return nil
}

// maxExact is the magnitude up to which a float64 represents every whole number.
const maxExact = 1 << 53

// isNumber reports whether v is an int or a finite float64.
func isNumber(v any) bool {
	f, ok := eval.Number(v)
	return ok && f-f == 0
}

// compareNumbers compares two numbers without rounding either.
func compareNumbers(a, b any) int {
	f, _ := eval.Number(a)
	g, _ := eval.Number(b)
	if f != g {
		return cmp.Compare(f, g)
	}
	exact := func(v any, f float64) *big.Float {
		if i, ok := v.(int); ok {
			return new(big.Float).SetInt64(int64(i))
		}
		return big.NewFloat(f)
	}
	return exact(a, f).Cmp(exact(b, g))
}

// isMultiple reports whether v is a multiple of of. It calculates in decimal: 0.3 is a multiple of 0.1.
func isMultiple(v, of any) bool {
	i, ok := v.(int)
	j, ok2 := of.(int)
	if ok && ok2 {
		return i%j == 0
	}
	return new(big.Rat).Quo(toRat(v), toRat(of)).IsInt()
}

func toRat(v any) *big.Rat {
	r := new(big.Rat)
	if i, ok := v.(int); ok {
		return r.SetInt64(int64(i))
	}
	f, _ := eval.Number(v)
	r.SetString(strconv.FormatFloat(f, 'g', -1, 64)) // can't fail for a finite float
	return r
}
