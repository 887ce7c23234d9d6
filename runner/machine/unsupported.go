// Parts of the language that the machine does not walk yet: refused before
// anything runs, never half done.

package machine

import "github.com/graphrun/graphrun/spec"

func (b *builder) notYet(g *spec.Graph) {
	for _, n := range g.Nodes {
		if !n.Each.IsSet() {
			continue
		}
		switch kind := n.Kind.Value; kind {
		case "wait", "fail":
			b.report("invalid-value", n.Each.Span, "a "+kind+" node has no use for each")
		case "human":
			b.report("not-yet", n.Each.Span, "each on a human node can be checked and drawn, but this version does not run it yet")
		}
	}
}
