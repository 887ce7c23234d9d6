// The limit for graphs inside graphs.

package spec

import "strconv"

// MaxDepth is the most graphs that may run inside each other, counting the outermost one.
const MaxDepth = 32

// TooDeepMessage returns the message for a subgraph beyond MaxDepth. name is what the node's
// `graph` says.
func TooDeepMessage(name string) string {
	return "subgraph " + strconv.Quote(name) + " is nested too deep: at most " + strconv.Itoa(MaxDepth) + " graphs may run inside each other"
}
