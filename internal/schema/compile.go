// Compilation of a schema document into nodes.

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

// maxNesting bounds the levels of schemas inside schemas.
const maxNesting = 400

// compiler builds the nodes of one document. It continues after an error, but keeps only the first.
type compiler struct {
	keywords []keyword        // a field, because functions of the table refer to the compiler
	nodes    map[string]*node // by JSON pointer
	refs     []*reference
	anchors  map[string]*node
	err      *Error
}

// Compile compiles a schema document: plain data, which must not change afterwards. A nil or empty
// document accepts everything. The error is an *Error.
func Compile(doc map[string]any) (*Schema, error) {
	c := &compiler{keywords: keywords, nodes: map[string]*node{}, anchors: map[string]*node{}}
	root := c.compileNode(doc, nil)
	if c.err == nil {
		c.resolveReferences(doc)
	}
	if c.err != nil {
		return nil, c.err
	}
	return &Schema{doc: doc, root: []*node{root}}, nil
}

func (c *compiler) setError(at []string, format string, args ...any) {
	if c.err == nil {
		c.err = &Error{Path: at, Message: fmt.Sprintf(format, args...)}
	}
}

// appendStep returns a copy of a path with one more step.
func appendStep(at []string, step string) []string { return append(slices.Clip(at), step) }

// compileNode compiles the subschema at a path.
func (c *compiler) compileNode(doc any, at []string) *node {
	n := &node{doc: doc, minContains: 1, maxContains: math.MaxInt}
	if c.err != nil {
		return n
	}
	if len(at) > maxNesting {
		c.setError(at[:4], "the schema is nested deeper than %d levels", maxNesting)
		return n
	}
	pointer := "" // RFC 6901
	for _, step := range at {
		pointer += "/" + pointerEscapes.Replace(step)
	}
	c.nodes[pointer] = n
	switch doc := doc.(type) {
	case bool:
		if !doc {
			n.whole, n.checks = true, []check{failIf(func(any) bool { return true }, " is not allowed here: nothing is")}
		}
	case map[string]any:
		c.readKeywords(n, doc, at)
	default:
		c.setError(at, "%s is not a schema; allowed: an object of keywords, true, false", formatValue(doc))
	}
	return n
}

// readKeywords reads the keywords of a schema, and puts their checks in the order of the table.
func (c *compiler) readKeywords(n *node, doc map[string]any, at []string) {
	checks := make([]check, len(c.keywords))
	for _, name := range slices.Sorted(maps.Keys(doc)) {
		if i := slices.IndexFunc(c.keywords, func(k keyword) bool { return k.name == name }); i >= 0 {
			n.whole = n.whole || c.keywords[i].whole
			checks[i] = c.keywords[i].read(c, n, doc[name], appendStep(at, name))
		} else if !slices.Contains(annotations, name) && !strings.HasPrefix(name, "x-") {
			c.setError(appendStep(at, name), "unknown keyword %s%s", strconv.Quote(name), replacementHints[name])
		}
	}
	n.checks = slices.DeleteFunc(checks, func(check check) bool { return check == nil })
}

// readTyped returns the value of a keyword as a T. If it is not a T, readTyped reports fault.
func readTyped[T any](c *compiler, value any, at []string, fault string) T {
	t, ok := value.(T)
	if !ok {
		c.setError(at, "%s %s", formatValue(value), fault)
	}
	return t
}

func (c *compiler) readCount(value any, at []string) int {
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
	c.setError(at, "%s is not a whole number of 0 or above", formatValue(value))
	return 0
}

func (c *compiler) compilePattern(value any, at []string) *regexp.Regexp {
	re, err := regexp.Compile(readTyped[string](c, value, at, "is not a regular expression"))
	if err != nil {
		c.setError(at, "%s is not a regular expression: %s", formatValue(value), strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return re
}

// compileMap compiles an object of subschemas.
func (c *compiler) compileMap(value any, at []string) map[string]*node {
	docs := readTyped[map[string]any](c, value, at, "is not an object of schemas")
	nodes := make(map[string]*node, len(docs))
	for _, name := range slices.Sorted(maps.Keys(docs)) {
		nodes[name] = c.compileNode(docs[name], appendStep(at, name))
	}
	return nodes
}

func (c *compiler) compileList(value any, at []string) []*node {
	list, ok := value.([]any)
	if !ok || len(list) == 0 {
		c.setError(at, "%s is not a list with at least one schema", formatValue(value))
	}
	nodes := make([]*node, len(list))
	for i, doc := range list {
		nodes[i] = c.compileNode(doc, appendStep(at, strconv.Itoa(i)))
	}
	return nodes
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// resolveReferences finds the node of every $ref.
func (c *compiler) resolveReferences(doc map[string]any) {
	id, _ := doc["$id"].(string)
	for _, ref := range c.refs {
		ref.target = c.findTarget(strings.TrimPrefix(ref.text, id))
		switch {
		case ref.target != nil:
		case !strings.HasPrefix(ref.text, "#"):
			c.setError(ref.at, "%s leads outside of the document; allowed: #, #/path, #anchor", formatValue(ref.text))
		default:
			c.setError(ref.at, "%s leads to no schema of the document", formatValue(ref.text))
		}
	}
}

func (c *compiler) findTarget(ref string) *node {
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
