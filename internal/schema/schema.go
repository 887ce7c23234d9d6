// Package schema checks plain data against JSON Schema (draft 2020-12): values of state keys, outputs
// of nodes, answers of people.
//
// Data is canonical: nil, bool, int, float64, string, []any, map[string]any. The package supports all
// keywords except dynamic references, `dependent…` and `unevaluated…`. As in the draft, `format` and the
// `content…` keywords check nothing. A `$ref` points into the same document. An unknown keyword is an
// error unless it begins with `x-`.
package schema

import (
	"regexp"
	"slices"
	"strconv"

	"github.com/graphrun/graphrun/eval"
)

// Schema is a compiled JSON Schema. It is safe for concurrent use. A nil *Schema accepts everything.
type Schema struct {
	doc  map[string]any
	root []*node // exactly one node
}

// Error describes a fault in a schema document.
type Error struct {
	// Path holds the keywords, property names and decimal indexes that lead to the fault.
	Path    []string
	Message string
}

// Error returns the path and the message.
func (e *Error) Error() string { return prependPath(e.Path, e.Message) }

// Mismatch describes why a schema rejects a value.
type Mismatch struct {
	// Path holds the property names and decimal indexes that lead to the fault.
	Path    []string
	Message string

	types typeSet // the accepted types, if only the type is wrong
	fatal bool    // the check gave up: do not try other alternatives
}

// Error returns one line: the position, such as `items[2].name`, then the message.
func (m *Mismatch) Error() string { return prependPath(m.Path, m.Message) }

func prependPath(path []string, message string) string {
	if len(path) == 0 {
		return message
	}
	return "at " + strconv.Quote(formatPath(path)) + ": " + message
}

// addStep adds a step to the front of the path of m, which may be nil.
func (m *Mismatch) addStep(step string) *Mismatch {
	if m != nil && !m.fatal { // the path of a fatal mismatch could be very long
		m.Path = slices.Insert(m.Path, 0, step)
	}
	return m
}

// Accept returns a normalised value, or a *Mismatch; see Normalise and Check.
func (s *Schema) Accept(v any) (any, error) {
	if s != nil && len(s.root[0].checks) == 1 { // the common case: a state key with only a type
		_, isInt := v.(int)
		if types := s.root[0].types; types == typeInteger && isInt || types&(typeString|typeBoolean) != 0 && types == findTypes(v) {
			return v, nil
		}
	}
	v = s.Normalise(v)
	return v, s.Check(v)
}

// Check returns a *Mismatch with the first fault of v, or nil. Equal values have the same first fault.
func (s *Schema) Check(v any) error { return s.check(v, 0) }

// CheckAppended checks a list whose first `from` elements are known to be valid. It skips them unless a
// keyword applies to the whole list (uniqueItems, contains, enum, anyOf, …).
func (s *Schema) CheckAppended(list []any, from int) error {
	if s == nil || s.root[0].whole {
		from = 0
	}
	return s.check(list, from)
}

func (s *Schema) check(v any, from int) error {
	if s != nil {
		if m := (&checker{from: from}).check(s.root[0], v); m != nil {
			return m
		}
	}
	return nil
}

// Normalise converts every number to the Go type of its schema: int for `type: integer`, float64 for
// `type: number`, else int for whole numbers up to 2^53. It copies only lists and maps with changes, and
// does not change values that the schema rejects.
func (s *Schema) Normalise(v any) any {
	if s == nil {
		s = &Schema{}
	}
	w, _ := new(checker).normaliseValue(s.root, v, 0)
	return w
}

// String returns the schema in one line, `type` first: {type: integer, enum: [1, 2]}.
func (s *Schema) String() string {
	if s == nil {
		return "{}"
	}
	return formatFlow(s.doc, maxFlow)
}

// node is a compiled subschema: its checks, and the parts that Normalise and other keywords need.
type node struct {
	doc    any
	checks []check // in the order of the table of keywords
	whole  bool    // a keyword applies to whole lists

	types      typeSet
	prefix     []*node
	items      *node
	properties map[string]*node
	patterns   []patternRule // sorted
	additional *node
	// Limits for the number of items that fit `contains`.
	minContains, maxContains int

	allOf, anyOf, oneOf       []*node
	not, ifNode, then, orElse *node
	ref                       *reference
}

// reference is a `$ref`.
type reference struct {
	text   string
	at     []string
	target *node
}

// check returns the first fault of a value, or nil.
type check func(c *checker, v any) *Mismatch

// patternRule is one entry of patternProperties.
type patternRule struct {
	pattern *regexp.Regexp
	node    *node
}

// itemSchema returns the schema of the element at an index, or nil.
func (n *node) itemSchema(i int) *node {
	if i < len(n.prefix) {
		return n.prefix[i]
	}
	return n.items
}

// matchPatterns returns the schemas of patternProperties for a name.
func (n *node) matchPatterns(name string) (out []*node) {
	for _, rule := range n.patterns {
		if rule.pattern.MatchString(name) {
			out = append(out, rule.node)
		}
	}
	return out
}

// Limits of one check. Schemas can refer to themselves, so checking a small value against a small
// document could take forever.
const (
	maxSteps = 10_000_000
	maxDepth = 50_000
)

// checker checks one value.
type checker struct {
	steps, depth int
	from         int // the index of the first element to check
}

// check returns the first fault of v, or nil.
func (c *checker) check(n *node, v any) *Mismatch {
	c.steps++
	if c.steps > maxSteps || c.depth > maxDepth {
		return &Mismatch{Message: "checking the value against the schema takes too many steps", fatal: true}
	}
	c.depth++
	defer func() { c.depth-- }()
	switch v.(type) {
	case eval.Open:
		return nil
	case float64:
		if !isNumber(v) {
			return newMismatch(formatValue(v), " is not a finite number")
		}
	case nil, bool, int, string, []any, map[string]any:
	default:
		return newMismatch(formatValue(v), " is not plain data")
	}
	for _, check := range n.checks {
		if m := check(c, v); m != nil {
			return m
		}
	}
	return nil
}

// checkAll returns the first fault of v in any of the schemas, or nil.
func (c *checker) checkAll(nodes []*node, v any) *Mismatch {
	for _, n := range nodes {
		if m := c.check(n, v); m != nil {
			return m
		}
	}
	return nil
}
