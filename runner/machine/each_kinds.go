// Kinds of nodes that `each` makes no sense for: refused before anything runs.

package machine

import "github.com/graphrun/graphrun/spec"

func (b *builder) checkEach(g *spec.Graph) {
	for _, n := range g.Nodes {
		if !n.Each.IsSet() {
			continue
		}
		switch kind := n.Kind.Value; kind {
		case "wait", "fail":
			b.report("invalid-value", n.Each.Span, "a "+kind+" node has no use for each")
		}
	}
}
