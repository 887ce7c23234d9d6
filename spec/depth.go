// How deep graphs may run graphs.

package spec

import "strconv"

// MaxDepth is how many graphs may run inside each other, the outermost one included.
const MaxDepth = 32

// TooDeep says that a graph, by what a node calls it, would be one more.
func TooDeep(name string) string {
	return "subgraph " + strconv.Quote(name) + " is nested too deep: at most " + strconv.Itoa(MaxDepth) + " graphs may run inside each other"
}
