// Names of tools as providers allow them, and back.

package wire

import (
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/model"
)

// maxName is the longest name of a tool that the providers take.
const maxName = 64

// Names translates names of tools: a graph's server.tool has a dot, which the
// providers refuse. It belongs to one request.
type Names struct {
	out  map[string]string // by name in the graph
	back map[string]string // by name on the wire
}

// NewNames names the tools of a request. Tools that the conversation names
// besides are added as they come.
func NewNames(tools []model.Tool) *Names {
	n := &Names{out: map[string]string{}, back: map[string]string{}}
	for _, legal := range []bool{true, false} { // what needs no change keeps its name
		for _, t := range tools {
			if (t.Name == plain(t.Name)) == legal {
				n.Wire(t.Name)
			}
		}
	}
	return n
}

// Wire is the name that the provider sees.
func (n *Names) Wire(name string) string {
	if known, ok := n.out[name]; ok {
		return known
	}
	base := plain(name)
	wire := base
	for i := 2; ; i++ {
		if _, taken := n.back[wire]; !taken {
			break
		}
		suffix := "_" + strconv.Itoa(i)
		wire = base[:min(len(base), maxName-len(suffix))] + suffix
	}
	n.out[name], n.back[wire] = wire, name
	return wire
}

// AddCalled adds the names of the tools that a conversation has called, in order: so
// the names in its beginning do not depend on what follows it.
func (n *Names) AddCalled(messages []model.Message) {
	for i := range messages {
		for j := range messages[i].ToolCalls {
			n.Wire(messages[i].ToolCalls[j].Name)
		}
	}
}

// Graph is the name in the graph of what a model calls; a name that was not
// offered stays as it is.
func (n *Names) Graph(wire string) string {
	if name, ok := n.back[wire]; ok {
		return name
	}
	return wire
}

// plain replaces what the providers refuse in names.
func plain(name string) string {
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, name)
	if name == "" {
		return "_"
	}
	return name[:min(len(name), maxName)]
}
