// Parts of the language that the machine does not walk yet: refused before
// anything runs, never half done.

package machine

import "github.com/graphrun/graphrun/spec"

func (b *builder) notYet(g *spec.Graph) {
	refuse := func(span spec.Span, what string) {
		b.report("not-yet", span, what+" can be checked and drawn, but this version does not run it yet")
	}
	if len(g.PauseBefore) > 0 {
		refuse(g.PauseBefore[0].Span, "pause_before")
	}
	if len(g.PauseAfter) > 0 {
		refuse(g.PauseAfter[0].Span, "pause_after")
	}
	for _, n := range g.Nodes {
		if kind := n.Kind.Value; n.Each.IsSet() && (kind == "wait" || kind == "fail") {
			b.report("invalid-value", n.Each.Span, "a "+kind+" node has no use for each")
		}
	}
}
