// policy-violated: a path through the graph breaks a policy.

package lint

import (
	"slices"

	"github.com/graphrun/graphrun/spec"
)

func policyViolated() Rule {
	return Rule{
		Name: "policy-violated", Severity: spec.Error, needs: needAll,
		Summary: "a path through the graph breaks one of its policies",
		Doc: "A policy is a property that every path keeps: require A before B, forbid A after B, reach A from B, at most N visits of a node, an expression that is never true at a node. The message prints a path that breaks it. " +
			"Conditions that depend on the node in question are trusted to do their work; the run watches them.",
		Bad: `graphrun: v1
name: release
start: build
state:
  urgent: {type: boolean, required: true}
policies:
  - {require: approve, before: deploy}
nodes:
  build: {kind: pass}
  approve: {kind: human, prompt: "Ship it?"}
  deploy: {kind: pass}
edges:
  - {from: build, to: deploy, when: urgent}
  - {from: build, to: approve}
  - {from: approve, to: deploy}
  - {from: deploy, to: END}
`,
		Good: `graphrun: v1
name: release
start: build
policies:
  - {require: approve, before: deploy}
nodes:
  build: {kind: pass}
  approve: {kind: human, prompt: "Ship it?"}
  deploy: {kind: pass}
edges:
  - {from: build, to: approve}
  - {from: approve, to: deploy}
  - {from: deploy, to: END}
`,
		check: checkPolicyViolated,
	}
}

func checkPolicyViolated(f *facts) {
	if len(f.graph.Policies) == 0 || f.flow().wild {
		return
	}
	for _, p := range f.policies(nil) {
		switch p.kind {
		case "require":
			f.requireBefore(&p)
		case "forbid":
			f.forbidAfter(&p)
		case "reach":
			f.reachFrom(&p)
		case "max_visits":
			f.atMost(&p)
		case "never":
			if p.never == nil {
				continue
			}
			if value, ok := p.never.Const(); ok && value == true {
				f.report(p.at.At(0, len(p.at.Value)), "%q is true whenever %q runs", p.at.Value, f.name(p.place))
			}
		}
	}
}

// requireBefore asks for a path to the place on which the subject has not run.
func (f *facts) requireBefore(p *policy) {
	a := f.newAssignment(1)
	a.making(p.subject, 0)
	w := f.wary(p.subject)
	open := make([][]int, len(f.graph.Nodes))
	for v := range open {
		open[v] = w.open(v)
	}
	for x := range a.into {
		target := x
		if x >= a.k.first {
			target = a.k.target[x-a.k.first]
		}
		a.into[x] = slices.DeleteFunc(a.into[x], func(e arc) bool {
			return e.with != unchanged && !slices.Contains(open[e.from], target)
		})
		for i := range a.into[x] {
			if a.into[x][i].from == p.subject {
				a.into[x][i].with = onSuccess // a failed visit is one, too
			}
		}
	}
	a.solve()
	if p.subject == p.place || !a.open[p.place].has(0) {
		return
	}
	if path := f.openPath(a, 0, p.place); path != nil {
		f.report(p.at.Span, "%q is reached without %q on the path %s", f.name(p.place), f.name(p.subject), f.pathText(path))
	}
}

func (f *facts) forbidAfter(p *policy) {
	w := f.wary(p.place)
	if !f.flow().reached[p.place] {
		return
	}
	var path []int
	for _, t := range w.open(p.place) {
		if rest := shortest(w.open, len(f.graph.Nodes)+2, t, p.subject); rest != nil && (path == nil || len(rest) < len(path)) {
			path = rest
		}
	}
	if path == nil {
		return
	}
	if path = append([]int{p.place}, path...); f.feasible(path) {
		f.report(p.at.Span, "%q can run after %q on the path %s", f.name(p.subject), f.name(p.place), f.pathText(path))
	}
}

func (f *facts) reachFrom(p *policy) {
	w := f.flow()
	if w.reached[p.place] && shortest(w.graph.Next, len(f.graph.Nodes)+2, p.place, p.subject) == nil {
		f.report(p.at.Span, "%q can't be reached from %q", f.name(p.subject), f.name(p.place))
	}
}

// atMost asks for a cycle through the place that nothing bounds.
func (f *facts) atMost(p *policy) {
	n := f.graph.Nodes[p.place]
	if limit := f.graph.Limits.MaxVisits; limit > 0 && limit <= p.limit || n.MaxVisits > 0 && n.MaxVisits <= p.limit {
		return
	}
	free := f.freeArcs(p.place)
	of, _ := free.SCC()
	size := 0
	for _, c := range of {
		if c == of[p.place] {
			size++
		}
	}
	if size > 1 || slices.Contains(free.Next(p.place), p.place) {
		f.report(p.at.Span, "%q can run more than %s: nothing bounds the cycle %s", n.ID.Value, plural(p.limit, "time"),
			f.pathText(cycleThrough(free, of, p.place)))
	}
}
