// The types of the table of keys. The parser, suggestions, JSON Schema and reference page all use the table.

package spec

import (
	"sync"

	"github.com/graphrun/graphrun/internal/lazyregexp"
)

// Type is the type of a key's value. The zero value is unset.
type Type int

// The types of values.
const (
	TypeString   Type = iota + 1 // a string scalar
	TypeBool                     // true or false
	TypeInt                      // a whole number
	TypeNumber                   // a number
	TypeDuration                 // a Go duration such as "10s", "1h30m"; plain 0 is allowed
	TypeEnum                     // one of Key.Enum
	TypeName                     // an identifier: [A-Za-z][A-Za-z0-9_-]*
	TypeAny                      // any value
	TypeSchema                   // a JSON Schema, which may have Key.Keys at its top
	TypeList                     // a list of Key.Elem
	TypeMap                      // a map from names to Key.Elem
	TypeObject                   // a map with the keys of Key.Keys
	TypeOneOf                    // any of Key.Forms, which differ in their outline
	TypeNode                     // a node: the keys of every node and those of its kind
	TypeGraph                    // a graph within a file: the keys of InnerKeys
	TypeText                     // a string scalar, or {file: path} for the text of that file; with Key.Elem also a list of that
)

// types holds, for each type, the kinds of values that fit, the words of messages, and the JSON Schema.
// Functions add the parts that depend on the key.
var types = [...]struct {
	kinds  []ValueKind
	words  string
	schema object
}{
	TypeString:   {words: "a text", schema: object{"type": "string"}},
	TypeBool:     {[]ValueKind{Bool}, "true or false", object{"type": "boolean"}},
	TypeInt:      {[]ValueKind{Int}, "a whole number", object{"type": "integer"}},
	TypeNumber:   {[]ValueKind{Int, Float}, "a number", object{"type": "number"}},
	TypeDuration: {[]ValueKind{Int, Float, String}, `a duration such as "500ms", "10s" or "1h30m"`, nil},
	TypeEnum:     {kinds: []ValueKind{String}},
	TypeName:     {[]ValueKind{String}, "a name (letters, digits, _ and -, a letter first)", object{"type": "string", "pattern": idPattern}},
	TypeAny:      {words: "any value"},
	TypeSchema:   {[]ValueKind{Map, Bool}, "a JSON Schema", refTo("json_schema")},
	TypeList:     {kinds: []ValueKind{List}},
	TypeMap:      {[]ValueKind{Map}, "a map", nil},
	TypeObject:   {[]ValueKind{Map}, "a map", nil},
	TypeNode:     {[]ValueKind{Map}, "a map", refTo("node")},
	TypeGraph:    {[]ValueKind{Map}, "a map", refTo("graph")},
	TypeText:     {words: "a text or {file: path}"},
}

// Role is the meaning of strings in a value. The zero value is plain data.
type Role int

// The roles. Except for RolePlain and RoleState, a scalar that is not a string is read as a text: `when: true`
// and `env: {PORT: 80}`.
const (
	RolePlain    Role = iota // plain data
	RoleExpr                 // an expression
	RoleTemplate             // text with {{ expressions }}, at any depth of the value
	RoleContent              // like RoleTemplate, but images, files and audio stay parts of a message
	RoleSet                  // an expression, or a template if it contains {{; other values are literals
	RoleNode                 // the id of a node, or END where the key allows it
	RoleState                // the name of a state key
)

// Names restricts the keys of a TypeMap. By default any key is allowed.
type Names int

// The kinds of names. Parse ignores keys in maps of names that begin with "x-".
const (
	NamesFree  Names = iota // any text
	NamesID                 // [A-Za-z][A-Za-z0-9_-]*
	NamesState              // [A-Za-z_][A-Za-z0-9_]*, so that expressions can hold them
)

// Choice is a group of keys that exclude each other. If Required is set, one of them must be present.
type Choice struct {
	Keys     []string
	Required bool
}

// Key is one key of the language.
type Key struct {
	Name     string
	Type     Type
	Role     Role
	Enum     []string
	Elem     *Key     // of TypeList and TypeMap
	Keys     []Key    // of TypeObject; of TypeSchema: more keywords
	Forms    []Key    // of TypeOneOf
	Names    Names    // of TypeMap
	Choices  []Choice // of TypeObject
	Required bool
	Needs    string // of a policy: another key that it needs, or ""
	NonEmpty bool   // of TypeList: it has at least one item
	// Positive numbers and durations are greater than zero. Durations are never negative.
	Positive bool
	// Min and Max bound numbers, unless nil.
	Min, Max *float64
	// Default says what the absence of the key means, or "".
	Default string
	// Doc is one sentence for the reference page and for editors.
	Doc string
}

// Kind is a kind of node with its own keys.
type Kind struct {
	Name    string
	Doc     string
	Keys    []Key
	Choices []Choice
}

// Values that are also elements of lists and maps.
var (
	textValue     = Key{Type: TypeString}
	textList      = Key{Type: TypeList, Elem: &textValue}
	templateValue = Key{Type: TypeString, Role: RoleTemplate}
	exprValue     = Key{Type: TypeString, Role: RoleExpr}
	exprMap       = Key{Type: TypeMap, Elem: &exprValue}
	nodeValue     = Key{Type: TypeName, Role: RoleNode}
	nodeList      = Key{Type: TypeList, Elem: &nodeValue}
	stateValue    = Key{Type: TypeString, Role: RoleState}
	stateList     = Key{Type: TypeList, Elem: &stateValue}
	statusValue   = Key{Type: TypeInt, Min: new(100.0), Max: new(599.0)}
	noticeValue   = Key{Type: TypeEnum, Enum: Notices}
	failureValue  = Key{Type: TypeEnum, Enum: FailureKinds()}
)

// innerKeys returns the keys of a graph in `graphs`, which needs no name.
var innerKeys = sync.OnceValue(func() (out []Key) {
	for _, k := range TopKeys {
		switch k.Name {
		case "graphrun", "graphs":
			continue
		case "name":
			k.Required, k.Default = false, "its key in `graphs`"
		}
		out = append(out, k)
	}
	return out
})

// The names of nodes, and the names of state keys, which expressions can hold.
const (
	idPattern         = `^[A-Za-z][A-Za-z0-9_-]*$`
	identifierPattern = `^[A-Za-z_][A-Za-z0-9_]*$`
)

var (
	idText         = lazyregexp.New(idPattern)
	identifierText = lazyregexp.New(identifierPattern)
)

func isID(name string) bool { return idText.Get().MatchString(name) }

func isIdentifier(name string) bool { return identifierText.Get().MatchString(name) }

// isReserved reports whether a name means an end of the graph.
func isReserved(name string) bool {
	return name == END || name == "START" || name == "__start__" || name == "__end__"
}

// reservedStateKeys are the names that expressions define, sorted.
var reservedStateKeys = []string{
	"branches", "error", "goal", "history", "index", "input", "inputs", "item", "last", "node", "nodes",
	"outcome", "output", "run", "secrets", "state", "step", "visits",
}

// expressionKeywords are the words that can't be names in expressions, sorted.
var expressionKeywords = []string{
	"False", "None", "True", "and", "contains", "else", "endsWith", "false", "if", "in", "let", "matches", "nil",
	"not", "or", "startsWith", "true",
}
