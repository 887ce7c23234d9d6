// Compiling a schema document into nodes.

package schema

import (
	"fmt"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// maxNesting bounds how deep schemas stand inside schemas.
const maxNesting = 400

// compiler builds the nodes of one document. It keeps the first error and goes on.
type compiler struct {
	nodes   map[string]*node // by JSON pointer
	order   []*node
	anchors map[string]*node
	err     *Error
}

// Compile reads a schema document: plain data, which must not change afterwards.
// A nil or empty document accepts everything. The error is an *Error.
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

func (c *compiler) fail(at []string, format string, args ...any) {
	if c.err == nil {
		c.err = &Error{Path: at, Message: fmt.Sprintf(format, args...)}
	}
}

// down returns a path with one more step, which shares no memory with its siblings.
func down(at []string, step string) []string { return append(slices.Clip(at), step) }

// schema compiles the subschema at a path.
func (c *compiler) schema(doc any, at []string) *node {
	n := newNode(doc)
	if c.err != nil {
		return n
	}
	if len(at) > maxNesting {
		c.fail(at[:4], "the schema is nested deeper than %d levels", maxNesting)
		return n
	}
	c.nodes[pointer(at)] = n
	c.order = append(c.order, n)
	switch doc := doc.(type) {
	case bool:
		n.never = !doc
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(doc)) {
			c.keyword(n, name, doc[name], down(at, name))
		}
	default:
		c.fail(at, "%s is not a schema; allowed: an object of keywords, true, false", show(doc))
	}
	return n
}

// The keywords by the form of their value, with the field of a node that they set.
var (
	annotations = []string{
		"$comment", "$schema", "contentEncoding", "contentMediaType", "contentSchema", "default", "deprecated",
		"description", "examples", "format", "readOnly", "title", "writeOnly",
	}
	numberKeywords = map[string]func(n *node) *any{
		"minimum":          func(n *node) *any { return &n.minimum },
		"maximum":          func(n *node) *any { return &n.maximum },
		"exclusiveMinimum": func(n *node) *any { return &n.above },
		"exclusiveMaximum": func(n *node) *any { return &n.below },
		"multipleOf":       func(n *node) *any { return &n.multipleOf },
	}
	countKeywords = map[string]func(n *node) *int{
		"minLength":     func(n *node) *int { return &n.length.min },
		"maxLength":     func(n *node) *int { return &n.length.max },
		"minItems":      func(n *node) *int { return &n.itemCount.min },
		"maxItems":      func(n *node) *int { return &n.itemCount.max },
		"minContains":   func(n *node) *int { return &n.found.min },
		"maxContains":   func(n *node) *int { return &n.found.max },
		"minProperties": func(n *node) *int { return &n.size.min },
		"maxProperties": func(n *node) *int { return &n.size.max },
	}
	schemaKeywords = map[string]func(n *node) **node{
		"items":                func(n *node) **node { return &n.items },
		"contains":             func(n *node) **node { return &n.contains },
		"additionalProperties": func(n *node) **node { return &n.additional },
		"propertyNames":        func(n *node) **node { return &n.propertyNames },
		"not":                  func(n *node) **node { return &n.not },
		"if":                   func(n *node) **node { return &n.ifNode },
		"then":                 func(n *node) **node { return &n.then },
		"else":                 func(n *node) **node { return &n.orElse },
	}
	listKeywords = map[string]func(n *node) *[]*node{
		"prefixItems": func(n *node) *[]*node { return &n.prefix },
		"allOf":       func(n *node) *[]*node { return &n.allOf },
		"anyOf":       func(n *node) *[]*node { return &n.anyOf },
		"oneOf":       func(n *node) *[]*node { return &n.oneOf },
	}
	// insteadOf helps with keywords of other drafts and dialects.
	insteadOf = map[string]string{
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
)

// keyword reads one keyword into n; at leads to it.
func (c *compiler) keyword(n *node, name string, value any, at []string) {
	if field := numberKeywords[name]; field != nil {
		*field(n) = c.number(name, value, at)
		return
	}
	if field := countKeywords[name]; field != nil {
		*field(n) = c.count(value, at)
		return
	}
	if field := schemaKeywords[name]; field != nil {
		if _, isList := value.([]any); isList && name == "items" {
			c.fail(at, "a list is not a schema; schemas by position are prefixItems")
		}
		*field(n) = c.schema(value, at)
		return
	}
	if field := listKeywords[name]; field != nil {
		*field(n) = c.schemaList(value, at)
		return
	}
	switch name {
	case "type":
		c.types(n, value, at)
	case "enum":
		values, ok := value.([]any)
		if n.enum = values; !ok || len(values) == 0 {
			c.fail(at, "%s is not a list with at least one value", show(value))
		}
	case "const":
		n.constant = &value
	case "pattern":
		n.pattern = c.regexp(value, at)
	case "uniqueItems":
		n.unique = read[bool](c, value, at, "is neither true nor false")
	case "properties":
		n.names, n.properties = c.schemas(value, at)
	case "patternProperties":
		names, nodes := c.schemas(value, at)
		for _, text := range names {
			n.patterns = append(n.patterns, patternRule{c.regexp(text, down(at, text)), nodes[text]})
		}
	case "required":
		for i, name := range read[[]any](c, value, at, "is not a list of names") {
			n.required = append(n.required, read[string](c, name, down(at, strconv.Itoa(i)), "is not a name"))
		}
	case "$defs", "definitions":
		c.schemas(value, at)
	case "$ref":
		n.refText, n.refPath = read[string](c, value, at, "is not a reference"), at
	case "$anchor":
		c.anchor(n, value, at)
	case "$id": // inside a document it would change the meaning of references
		if read[string](c, value, at, "is not an address"); len(at) > 1 {
			c.fail(at, "an identity inside a document is not supported; use $anchor")
		}
	default:
		if !slices.Contains(annotations, name) && !strings.HasPrefix(name, "x-") {
			c.fail(at, "unknown keyword %s%s", strconv.Quote(name), insteadOf[name])
		}
	}
}

// read returns the value of a keyword, which must be a T.
func read[T any](c *compiler, value any, at []string, fault string) T {
	t, ok := value.(T)
	if !ok {
		c.fail(at, "%s %s", show(value), fault)
	}
	return t
}

func (c *compiler) types(n *node, value any, at []string) {
	names, ok := value.([]any)
	if !ok {
		names = []any{value}
	}
	if len(names) == 0 {
		c.fail(at, "an empty list allows no value; name at least one type")
	}
	for _, name := range names {
		i := slices.IndexFunc(typeNames, func(t typeName) bool { return t.name == name })
		if i < 0 {
			c.fail(at, "%s is not a type; allowed: array, boolean, integer, null, number, object, string", show(name))
			return
		}
		n.types |= typeNames[i].set
	}
}

func (c *compiler) number(name string, value any, at []string) any {
	switch {
	case !isNumber(value):
		c.fail(at, "%s is not a number", show(value))
	case name == "multipleOf" && compareNumbers(value, 0) <= 0:
		c.fail(at, "%s is not above 0", show(value))
	}
	return value
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

func (c *compiler) regexp(value any, at []string) *regexp.Regexp {
	re, err := regexp.Compile(read[string](c, value, at, "is not a regular expression"))
	if err != nil {
		c.fail(at, "%s is not a regular expression: %s", show(value), strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return re
}

// schemas compiles an object of subschemas; names are sorted.
func (c *compiler) schemas(value any, at []string) (names []string, nodes map[string]*node) {
	docs := read[map[string]any](c, value, at, "is not an object of schemas")
	names, nodes = slices.Sorted(maps.Keys(docs)), make(map[string]*node, len(docs))
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

func (c *compiler) anchor(n *node, value any, at []string) {
	name, ok := value.(string)
	switch {
	case !ok || name == "":
		c.fail(at, "%s is not a name", show(value))
	case c.anchors[name] != nil:
		c.fail(at, "the anchor %s is there twice", strconv.Quote(name))
	}
	c.anchors[name] = n
}

// pointer returns the JSON pointer (RFC 6901) of a path.
func pointer(at []string) string {
	var b strings.Builder
	for _, step := range at {
		b.WriteString("/" + strings.ReplaceAll(strings.ReplaceAll(step, "~", "~0"), "/", "~1"))
	}
	return b.String()
}

// resolve connects every $ref with its node.
func (c *compiler) resolve(doc map[string]any) {
	id, _ := doc["$id"].(string)
	for _, n := range c.order {
		if n.refPath == nil {
			continue
		}
		n.ref = c.target(strings.TrimPrefix(n.refText, id))
		switch {
		case n.ref != nil:
		case !strings.HasPrefix(n.refText, "#"):
			c.fail(n.refPath, "%s leads outside of the document; allowed: #, #/path, #anchor", show(n.refText))
		default:
			c.fail(n.refPath, "%s leads to no schema of the document", show(n.refText))
		}
	}
}

func (c *compiler) target(ref string) *node {
	fragment, ok := strings.CutPrefix(ref, "#")
	if !ok && ref != "" {
		return nil
	}
	if text, err := url.PathUnescape(fragment); err == nil {
		fragment = text
	}
	if fragment == "" || fragment[0] == '/' {
		return c.nodes[fragment]
	}
	return c.anchors[fragment]
}

// refuseLoops finds subschemas that apply themselves to the same value: no check
// would ever leave them.
func (c *compiler) refuseLoops() {
	closed := map[*node]bool{} // false while its subschemas are visited
	var loops func(n *node) bool
	loops = func(n *node) bool {
		if done, seen := closed[n]; seen {
			return !done
		}
		closed[n] = false
		if slices.ContainsFunc(n.inPlace(), loops) {
			return true
		}
		closed[n] = true
		return false
	}
	for _, n := range c.order {
		if n.refPath != nil && loops(n) {
			c.fail(n.refPath, "%s leads back to itself without a step into the value", show(n.refText))
			return
		}
	}
}
