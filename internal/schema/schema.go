// Package schema checks plain data against JSON Schema (draft 2020-12): the
// values of state keys, the outputs of nodes, the answers of people.
//
// Data is canonical: nil, bool, int, float64, string, []any, map[string]any.
// The vocabulary is known but for dynamic references, `dependent…` and
// `unevaluated…`; `format` and the `content…` keywords annotate and check nothing, as the draft has it. Nothing
// is ever loaded: a `$ref` leads to a place in the same document. Keywords
// that nobody knows are errors, since a misspelt one would check nothing;
// names that begin with `x-` are free.
package schema

import "strconv"

// Schema is a compiled JSON Schema. It never changes and is safe for
// concurrent use. A nil *Schema accepts everything.
type Schema struct {
	doc  map[string]any
	root *node
}

// Error says what is wrong with a schema document.
type Error struct {
	// Path leads from the document to the wrong place: keywords, property
	// names, indexes in decimal. It ends with the keyword at fault.
	Path    []string
	Message string
}

// Error puts the path before the message.
func (e *Error) Error() string {
	if len(e.Path) == 0 {
		return e.Message
	}
	return "at " + strconv.Quote(pathText(e.Path)) + ": " + e.Message
}

// Mismatch is a value that a schema does not accept.
type Mismatch struct {
	// Path is the place inside the value, such as `items[2].name`; "" for the
	// value itself.
	Path    string
	Message string
}

// Error is one line: the place, then what is wrong.
func (m *Mismatch) Error() string {
	if m.Path == "" {
		return m.Message
	}
	return "at " + strconv.Quote(m.Path) + ": " + m.Message
}

// Compile reads a schema document: plain data as above, which must not change
// afterwards. A nil or empty document accepts everything. The error is an *Error.
func Compile(doc map[string]any) (*Schema, error) {
	c := &compiler{nodes: map[string]*node{}, anchors: map[string]*node{}}
	root := c.schema(doc, nil)
	if c.err == nil {
		c.resolve(doc)
	}
	if c.err == nil {
		c.refuseLoops()
	}
	if c.err != nil {
		return nil, c.err
	}
	return &Schema{doc: doc, root: root}, nil
}

// Check tells whether the schema accepts v; the error is a *Mismatch with the
// first thing wrong, and the same one every time. It costs O(v), and a plain
// type test allocates nothing.
func (s *Schema) Check(v any) error {
	if s == nil {
		return nil
	}
	c := checker{}
	if p := c.check(s.root, v); p != nil {
		return p.mismatch()
	}
	return nil
}

// CheckAppended is Check(list) for a list whose first from elements are known
// to be right. It costs O(new elements) unless the schema has keywords that
// look at the list as a whole (uniqueItems, contains, enum, anyOf, …).
func (s *Schema) CheckAppended(list []any, from int) error {
	if s == nil {
		return nil
	}
	c := checker{}
	n := s.root
	if n.wholeList() || from <= 0 || !n.types.accepts(list) {
		if p := c.check(n, list); p != nil {
			return p.mismatch()
		}
		return nil
	}
	if n.list == nil {
		return nil
	}
	if p := c.checkLength(n.list, list); p != nil {
		return p.mismatch()
	}
	if p := c.checkItems(n.list, list, from); p != nil {
		return p.mismatch()
	}
	return nil
}

// Normalise gives every number the type that the schema says: an int for
// `type: integer` (1.0 becomes 1), a float64 for `type: number`, and where the
// schema says nothing, an int for a whole number up to 2^53. It returns v
// itself where nothing changes, and copies only the lists and maps on the way
// to a change. Values that the schema does not accept are left alone.
func (s *Schema) Normalise(v any) any {
	switch v.(type) {
	case nil, bool, string:
		return v
	}
	var nodes []*node
	if s != nil {
		nodes = s.root.self
	}
	z := normaliser{}
	w, _ := z.value(nodes, v, 0)
	return w
}

// String is the schema in one line of YAML, `type` first, the rest sorted:
// {type: integer, enum: [1, 2]}.
func (s *Schema) String() string {
	if s == nil {
		return "{}"
	}
	return flow(s.doc)
}
