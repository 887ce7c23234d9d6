// The table of keys as a whole, made once.

package spec

import "sync"

// tables are the lists of keys that every file is checked against. They are
// shared by all files of a process, and only read.
type tables struct {
	top      []Key
	common   []Key // of every node
	keywords []Key // of JSON Schema
	policy   []Key
	kinds    []Kind
}

// language makes the tables at first use: a program that reads no graph file
// does not pay for them.
var language = sync.OnceValue(func() *tables {
	return &tables{top: topKeys(), common: nodeKeys(), keywords: schemaKeywords(), policy: policyKeys(), kinds: builtinKinds()}
})

// TopKeys are the keys of a file. The list is shared: it must not be changed.
func TopKeys() []Key { return language().top }

// BuiltinKinds are the kinds that every graph has, sorted by name. The list is
// shared: it must not be changed.
func BuiltinKinds() []Kind { return language().kinds }
