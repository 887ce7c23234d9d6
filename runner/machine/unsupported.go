// Parts of the language that the machine does not walk yet: refused before
// anything runs, never half done.

package machine

import "github.com/graphrun/graphrun/spec"

func (b *builder) notYet(g *spec.Graph) {
	refuse := func(span spec.Span, what string) {
		b.report("not-yet", span, what+" can be checked and drawn, but this version does not run it yet")
	}
	for _, n := range g.Nodes {
		if n.Each.IsSet() {
			if kind := n.Kind.Value; kind == "wait" || kind == "fail" {
				b.report("invalid-value", n.Each.Span, "a "+kind+" node has no use for each")
			}
		}
		if n.Cache != nil {
			refuse(n.Cache.Span, "cache")
		}
	}
}
