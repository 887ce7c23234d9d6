// Package lint checks what a graph means: its expressions against the declared
// state, its data flow, its branches. It finds problems; it runs nothing.
package lint

import (
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/spec"
)

// Options configure Check. The zero value is fine.
type Options struct {
	// Kinds are the node kinds besides the built-in ones.
	Kinds []spec.Kind
}

// Check returns what is wrong with a graph that spec.Parse gave, besides what
// Parse and spec.Check say, in no particular order.
func Check(g *spec.Graph, opts Options) spec.Diagnostics {
	_, found := bind.Bind(g, opts.Kinds)
	return found
}
