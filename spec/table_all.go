// The table of keys as a whole, made once.

package spec

import (
	"reflect"
	"sync"
)

// tables are the lists of keys that every file is checked against. They are
// shared by all files of a process, and only read.
type tables struct {
	top      []Key
	inner    []Key // of a graph within a file
	common   []Key // of every node
	keywords []Key // of JSON Schema
	policy   []Key
	textFile []Key // of {file: path}
	state    []Key // of state keys, besides those of JSON Schema
	kinds    []Kind
	slots    map[reflect.Type]map[string][]slot // of the structs that take the values
}

// language makes the tables at first use: a program that reads no graph file
// does not pay for them.
var language = sync.OnceValue(func() *tables {
	top := topKeys()
	slots := map[reflect.Type]map[string][]slot{}
	for _, holder := range []any{Graph{}, Goal{}, StateKey{}, Secret{}, Limits{}, Parallel{}, Concurrency{}, Retry{}, Cache{}, Node{}, Decide{}, Join{}, Edge{}} {
		slots[reflect.TypeOf(holder)] = slotsOf(reflect.TypeOf(holder))
	}
	return &tables{
		top: top, inner: innerKeys(top), common: nodeKeys(), keywords: schemaKeywords(), policy: policyKeys(),
		textFile: textFileKeys(), state: stateKeywords(), kinds: builtinKinds(), slots: slots,
	}
})

// TopKeys are the keys of a file. The list is shared: it must not be changed.
func TopKeys() []Key { return language().top }

// innerKeys are the keys of a graph in `graphs`: it is no file of its own, and has
// a name already.
func innerKeys(top []Key) []Key {
	var out []Key
	for _, k := range top {
		switch k.Name {
		case "graphrun", "graphs":
			continue
		case "name":
			k.Required, k.Default = false, "its key in `graphs`"
		}
		out = append(out, k)
	}
	return out
}

// BuiltinKinds are the kinds that every graph has, sorted by name. The list is
// shared: it must not be changed.
func BuiltinKinds() []Kind { return language().kinds }
