// Names of tools as providers allow them, and back.

package wire

import (
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/model"
)

// maxName is the longest name of a tool that all providers allow.
const maxName = 64

// Names translates names of tools for one request: providers refuse the dot in a
// graph's server.tool.
type Names struct {
	out  map[string]string // by name in the graph
	back map[string]string // by name on the wire
}

// NewNames names the tools of a request. Legal names stay.
func NewNames(tools []model.Tool) *Names {
	n := &Names{out: map[string]string{}, back: map[string]string{}}
	for _, legal := range []bool{true, false} {
		for _, t := range tools {
			if (t.Name == legalName(t.Name)) == legal {
				n.Wire(t.Name)
			}
		}
	}
	return n
}

// Wire returns the name that the provider sees.
func (n *Names) Wire(name string) string {
	if known, ok := n.out[name]; ok {
		return known
	}
	base := legalName(name)
	wire := base
	for i := 2; n.taken(wire); i++ {
		suffix := "_" + strconv.Itoa(i)
		wire = base[:min(len(base), maxName-len(suffix))] + suffix
	}
	n.out[name], n.back[wire] = wire, name
	return wire
}

func (n *Names) taken(wire string) bool {
	_, taken := n.back[wire]
	return taken
}

// addCalled names the tools that a conversation has called, in order, so that names
// do not depend on later messages.
func (n *Names) addCalled(messages []model.Message) {
	for i := range messages {
		for j := range messages[i].ToolCalls {
			n.Wire(messages[i].ToolCalls[j].Name)
		}
	}
}

// Graph returns the graph's name of a tool; unknown names stay.
func (n *Names) Graph(wire string) string {
	if name, ok := n.back[wire]; ok {
		return name
	}
	return wire
}

// Legal replaces the characters that providers refuse in names and ids.
func Legal(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, text)
}

func legalName(name string) string {
	if name == "" {
		return "_"
	}
	name = Legal(name)
	return name[:min(len(name), maxName)]
}
