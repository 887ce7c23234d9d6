// Parts of the language that the machine does not walk yet: refused before
// anything runs, never half done.

package machine

import "github.com/graphrun/graphrun/spec"

func (b *builder) notYet(g *spec.Graph) {
	refuse := func(span spec.Span, what string) {
		b.report("not-yet", span, what+" can be checked and drawn, but this version does not run it yet")
	}
	for _, n := range g.Nodes {
		if n.Join != nil {
			refuse(n.Join.Span, "join")
		}
		if n.Each.IsSet() {
			refuse(n.Each.Span, "each")
		}
		if n.Cache != nil {
			refuse(n.Cache.Span, "cache")
		}
		if n.Parallel != nil && n.Parallel.OnFailure != "" && n.Parallel.OnFailure != "fail_all" {
			refuse(n.Parallel.Span, "parallel.on_failure: "+n.Parallel.OnFailure)
		}
	}
	if f := g.Parallel.OnFailure; f != "" && f != "fail_all" {
		refuse(g.Parallel.Span, "parallel.on_failure: "+f)
	}
	if g.Parallel.Join == "auto" {
		refuse(g.Parallel.Span, "parallel.join: auto")
	}
}
