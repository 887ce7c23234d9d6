// Package schema checks plain data against JSON Schema (draft 2020-12): the
// values of state keys, the outputs of nodes, the answers of people.
//
// Data is canonical: nil, bool, int, float64, string, []any, map[string]any.
// Every keyword is supported except dynamic references, `dependent…` and
// `unevaluated…`. As in the draft, `format` and the `content…` keywords check
// nothing. Nothing is loaded: a `$ref` points into the same document. An unknown
// keyword is an error, because a misspelt one would check nothing; names with
// the prefix `x-` are free.
package schema

import (
	"math"
	"regexp"
	"strconv"
)

// Schema is a compiled JSON Schema. It never changes and is safe for
// concurrent use. A nil *Schema accepts everything.
type Schema struct {
	doc  map[string]any
	root *node
}

// Error describes a fault in a schema document.
type Error struct {
	// Path leads from the document to the keyword at fault: keywords, property
	// names, indexes in decimal.
	Path    []string
	Message string
}

// Error puts the path before the message.
func (e *Error) Error() string { return located(pathText(e.Path), e.Message) }

// Mismatch describes why a schema rejects a value.
type Mismatch struct {
	// Path is the position inside the value, such as `items[2].name`, or "" for
	// the value itself.
	Path    string
	Message string

	types typeSet // the accepted types, if the type alone is wrong
	fatal bool    // the check gave up; no alternative can help
}

// Error returns one line: the position, then the message.
func (m *Mismatch) Error() string { return located(m.Path, m.Message) }

func located(path, message string) string {
	if path == "" {
		return message
	}
	return "at " + strconv.Quote(path) + ": " + message
}

// Check returns a *Mismatch with the first fault of v, or nil. The fault is the
// same each time. The cost is O(v), and simple schemas allocate nothing.
func (s *Schema) Check(v any) error {
	if s == nil {
		return nil
	}
	return new(checker).check(s.root, v).error()
}

// CheckAppended checks a list whose first from elements are known to be valid. It
// costs O(new elements), unless a keyword concerns the list as a whole
// (uniqueItems, contains, enum, anyOf, …).
func (s *Schema) CheckAppended(list []any, from int) error {
	if s == nil || from <= 0 || !s.root.isElementwise() || !s.root.types.accept(list) {
		return s.Check(list)
	}
	var c checker
	if m := s.root.checkLength(list); m != nil {
		return m
	}
	return c.checkItems(s.root, list, from).error()
}

// error avoids an error that is a nil *Mismatch.
func (m *Mismatch) error() error {
	if m == nil {
		return nil
	}
	return m
}

// Normalise converts every number to the Go type that the schema names: int for
// `type: integer`, float64 for `type: number`, else int for whole numbers up to
// 2^53. It copies only lists and maps that lead to a change. Values that the
// schema rejects stay as they are.
func (s *Schema) Normalise(v any) any {
	var nodes []*node
	if s != nil {
		nodes = s.root.self
	}
	w, _ := new(checker).normalise(nodes, v, 0)
	return w
}

// String writes the schema as one line of YAML, `type` first, the rest sorted:
// {type: integer, enum: [1, 2]}.
func (s *Schema) String() string {
	if s == nil {
		return "{}"
	}
	return flow(s.doc)
}

// node is one compiled subschema. A field with its initial value checks nothing.
type node struct {
	doc  any     // for messages
	self []*node // this node alone, kept because Normalise must not allocate

	never    bool // the schema `false`
	types    typeSet
	enum     []any
	constant *any

	minimum, maximum, above, below, multipleOf any // int, float64 or nil

	length  bounds // of a string
	pattern *regexp.Regexp

	prefix           []*node
	items, contains  *node
	itemCount, found bounds
	unique           bool

	names                     []string // of properties, sorted
	properties                map[string]*node
	patterns                  []patternRule // sorted
	additional, propertyNames *node
	required                  []string
	size                      bounds

	allOf, anyOf, oneOf       []*node
	not, ifNode, then, orElse *node
	ref                       *node
	refText                   string
	refPath                   []string // nil without $ref
}

type bounds struct{ min, max int }

// patternRule is one entry of patternProperties.
type patternRule struct {
	pattern *regexp.Regexp
	node    *node
}

func newNode(doc any) *node {
	open := bounds{0, math.MaxInt}
	n := &node{doc: doc, length: open, itemCount: open, found: bounds{1, math.MaxInt}, size: open}
	n.self = []*node{n}
	return n
}

// inPlace lists the subschemas that apply to the same value as n.
func (n *node) inPlace() []*node {
	var out []*node
	for _, list := range [][]*node{{n.ref}, n.allOf, n.anyOf, n.oneOf, {n.not, n.ifNode, n.then, n.orElse}} {
		for _, sub := range list {
			if sub != nil {
				out = append(out, sub)
			}
		}
	}
	return out
}

// hasInPlace reports whether inPlace lists anything.
func (n *node) hasInPlace() bool {
	return n.ref != nil || n.allOf != nil || n.anyOf != nil || n.oneOf != nil || n.not != nil || n.ifNode != nil
}

// isElementwise reports whether elements of a list can be checked one by one.
func (n *node) isElementwise() bool {
	return !n.never && n.enum == nil && n.constant == nil && !n.hasInPlace() && !n.unique && n.contains == nil
}

// item returns the schema of the element at an index, or nil.
func (n *node) item(i int) *node {
	if i < len(n.prefix) {
		return n.prefix[i]
	}
	return n.items
}
