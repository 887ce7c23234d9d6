// The table of keys: what may stand where in a graph file. It feeds the
// parser, the suggestions, the JSON Schema and the reference page.

package spec

// Type is the shape of a key's value. The zero value is unset.
type Type int

// The shapes.
const (
	TypeString   Type = iota + 1 // a string scalar
	TypeBool                     // true or false
	TypeInt                      // a whole number
	TypeNumber                   // a number
	TypeDuration                 // a Go duration such as "10s", "1h30m"; plain 0 is allowed
	TypeEnum                     // one of Key.Enum
	TypeName                     // an identifier: [A-Za-z][A-Za-z0-9_-]*
	TypeAny                      // any value
	TypeSchema                   // a JSON Schema
	TypeList                     // a list of Key.Elem
	TypeMap                      // a map from names to Key.Elem
	TypeObject                   // a map with the keys of Key.Keys
	TypeOneOf                    // any of Key.Forms
)

// Role says what a string in the value is to the machine. The zero value is
// plain data.
type Role int

// The roles.
const (
	RolePlain    Role = iota // as it is
	RoleExpr                 // an expression
	RoleTemplate             // text with {{ expressions }}, at any depth of the value
	RoleSet                  // an expression, or a template if it contains {{; other values are literals
	RoleNode                 // the id of a node, or END where the key allows it
	RoleState                // the name of a state key
)

// Key is one key of the language.
type Key struct {
	Name     string
	Type     Type
	Role     Role
	Enum     []string
	Elem     *Key  // of TypeList and TypeMap
	Keys     []Key // of TypeObject
	Forms    []Key // of TypeOneOf
	Required bool
	// Default is what an absent key means, as a person reads it; "" for none.
	Default string
	// Doc is one sentence for the reference page and for editors.
	Doc string
}

// Kind is a kind of node and its own keys, besides those of every node.
type Kind struct {
	Name string
	Doc  string
	Keys []Key
}
