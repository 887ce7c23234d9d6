// How the value of a keyword is read.

package schema

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// typeName pairs a type with its name.
type typeName struct {
	name string
	set  typeSet
}

// typeNames lists the types, sorted by name.
func typeNames() [7]typeName {
	return [...]typeName{
		{"array", typeArray},
		{"boolean", typeBoolean},
		{"integer", typeInteger},
		{"null", typeNull},
		{"number", typeNumber},
		{"object", typeObject},
		{"string", typeString},
	}
}

func (c *compiler) readType(n *node, value any, at []string) {
	names, ok := value.([]any)
	if !ok {
		names = []any{value}
	}
	if len(names) == 0 {
		c.fail(at, "an empty list allows no value; name at least one type")
	}
	for _, name := range names {
		set := typeOfName(name)
		if set == 0 {
			c.fail(at, "%s is not a type; allowed: array, boolean, integer, null, number, object, string", show(name))
		}
		n.types |= set
	}
}

func typeOfName(name any) typeSet {
	for _, t := range typeNames() {
		if t.name == name {
			return t.set
		}
	}
	return 0
}

func (c *compiler) readEnum(value any, at []string) []any {
	values, ok := value.([]any)
	if !ok || len(values) == 0 {
		c.fail(at, "%s is not a list with at least one value", show(value))
		return nil
	}
	return values
}

func (c *compiler) number(value any, at []string) any {
	if !isNumber(value) {
		c.fail(at, "%s is not a number", show(value))
		return nil
	}
	return value
}

func (c *compiler) divisor(value any, at []string) any {
	if isNumber(value) && compareNumbers(value, 0) <= 0 {
		c.fail(at, "%s is not above 0", show(value))
	}
	return c.number(value, at)
}

func (c *compiler) count(value any, at []string) int {
	switch v := value.(type) {
	case int:
		if v >= 0 {
			return v
		}
	case float64:
		if v >= 0 && v <= maxExact && v == math.Trunc(v) {
			return int(v)
		}
	}
	c.fail(at, "%s is not a whole number of 0 or above", show(value))
	return 0
}

func (c *compiler) flag(value any, at []string) bool {
	b, ok := value.(bool)
	if !ok {
		c.fail(at, "%s is neither true nor false", show(value))
	}
	return b
}

func (c *compiler) pattern(value any, at []string) *regexp.Regexp {
	text, ok := value.(string)
	if !ok {
		c.fail(at, "%s is not a regular expression", show(value))
		return nil
	}
	re, err := regexp.Compile(text)
	if err != nil {
		c.fail(at, "%s is not a regular expression: %s", show(value),
			strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return re
}

// schemas compiles an object of subschemas; names are sorted.
func (c *compiler) schemas(value any, at []string) (names []string, nodes map[string]*node) {
	docs := c.object(value, at, "schemas")
	names = slices.Sorted(maps.Keys(docs))
	nodes = make(map[string]*node, len(docs))
	for _, name := range names {
		nodes[name] = c.schema(docs[name], down(at, name))
	}
	return names, nodes
}

func (c *compiler) schemaList(value any, at []string) []*node {
	list, ok := value.([]any)
	if !ok || len(list) == 0 {
		c.fail(at, "%s is not a list with at least one schema", show(value))
	}
	nodes := make([]*node, len(list))
	for i, doc := range list {
		nodes[i] = c.schema(doc, down(at, strconv.Itoa(i)))
	}
	return nodes
}

func (c *compiler) readPatterns(value any, at []string) []patternRule {
	var out []patternRule
	names, nodes := c.schemas(value, at)
	for _, text := range names {
		out = append(out, patternRule{c.pattern(text, down(at, text)), nodes[text]})
	}
	return out
}

func (c *compiler) object(value any, at []string, of string) map[string]any {
	m, ok := value.(map[string]any)
	if !ok {
		c.fail(at, "%s is not an object of %s", show(value), of)
	}
	return m
}

func (c *compiler) names(value any, at []string) []string {
	list, ok := value.([]any)
	if !ok {
		c.fail(at, "%s is not a list of names", show(value))
	}
	out := make([]string, 0, len(list))
	for i, v := range list {
		name, ok := v.(string)
		if !ok {
			c.fail(down(at, strconv.Itoa(i)), "%s is not a name", show(v))
		}
		out = append(out, name)
	}
	return out
}
