// The compiled form of a schema: one node per subschema.

package schema

import (
	"math"
	"regexp"
)

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

// accepts tells whether v has one of the types. A float64 with a whole value
// is an integer; an infinity or NaN is nothing.
func (t typeSet) accepts(v any) bool {
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
		if t&typeNumber != 0 {
			return v-v == 0
		}
		return t&typeInteger != 0 && v-v == 0 && v == math.Trunc(v)
	case nil:
		return t&typeNull != 0
	case []any:
		return t&typeArray != 0
	case map[string]any:
		return t&typeObject != 0
	}
	return false
}

// node is one subschema. Nil parts check nothing.
type node struct {
	doc any // for messages
	// self is the list of this node alone, kept to hand out without allocating.
	self []*node

	never    bool // the schema `false`
	types    typeSet
	enum     []any
	constant *constant
	number   *numberRules
	text     *textRules
	list     *listRules
	object   *objectRules
	logic    *logicRules
	refText  string // of $ref; "" for none
	refPath  []string
	ref      *node
}

// constant is const: a struct, since null is a value too.
type constant struct{ value any }

type numberRules struct {
	// Each is an int, a float64, or nil for none.
	minimum, maximum any
	above, below     any // exclusiveMinimum, exclusiveMaximum
	multipleOf       any
}

type textRules struct {
	minLength, maxLength int // maxLength -1: none
	pattern              *regexp.Regexp
}

type listRules struct {
	prefix                   []*node
	items                    *node
	contains                 *node
	minContains, maxContains int // maxContains -1: none
	minItems, maxItems       int // maxItems -1: none
	unique                   bool
}

type objectRules struct {
	names                        []string // of properties, sorted
	properties                   map[string]*node
	patterns                     []patternRule
	additional                   *node
	propertyNames                *node
	required                     []string
	minProperties, maxProperties int // maxProperties -1: none
}

// patternRule is one entry of patternProperties; they are sorted by pattern.
type patternRule struct {
	pattern *regexp.Regexp
	node    *node
}

type logicRules struct {
	allOf, anyOf, oneOf       []*node
	not, ifNode, then, orElse *node
}

// wholeList tells whether checking an appended element needs the elements
// before it.
func (n *node) wholeList() bool {
	if n.never || n.enum != nil || n.constant != nil || n.ref != nil || n.logic != nil {
		return true
	}
	return n.list != nil && (n.list.unique || n.list.contains != nil)
}

// inPlace lists the subschemas that apply to the same value as n.
func (n *node) inPlace() []*node {
	var out []*node
	add := func(nodes ...*node) {
		for _, sub := range nodes {
			if sub != nil {
				out = append(out, sub)
			}
		}
	}
	add(n.ref)
	if l := n.logic; l != nil {
		add(l.allOf...)
		add(l.anyOf...)
		add(l.oneOf...)
		add(l.not, l.ifNode, l.then, l.orElse)
	}
	return out
}

func (n *node) numberRules() *numberRules {
	if n.number == nil {
		n.number = &numberRules{}
	}
	return n.number
}

func (n *node) textRules() *textRules {
	if n.text == nil {
		n.text = &textRules{maxLength: -1}
	}
	return n.text
}

func (n *node) listRules() *listRules {
	if n.list == nil {
		n.list = &listRules{minContains: 1, maxContains: -1, maxItems: -1}
	}
	return n.list
}

func (n *node) objectRules() *objectRules {
	if n.object == nil {
		n.object = &objectRules{maxProperties: -1}
	}
	return n.object
}

func (n *node) logicRules() *logicRules {
	if n.logic == nil {
		n.logic = &logicRules{}
	}
	return n.logic
}
