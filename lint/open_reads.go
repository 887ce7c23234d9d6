package lint

import (
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/explore"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// reportOpenRead reports a read of a variable that may be unassigned, with a path on which it is. The
// message is certain if a run shows it. It reports nothing if no path is possible.
func (m *assignments) reportOpenRead(u *dataflow.Use, r eval.Read, number int) {
	f, at := m.f, u.Node
	if at < 0 {
		at = f.End
	}
	path := m.FindPath(number, at)
	if path == nil {
		return
	}
	isPossible := false
	if u.Moment != dataflow.AtEnd { // all branches have ended by then
		const most = 20
		if possible := m.findOpenPath(u, r, number, append([][]int{path}, m.ListPaths(number, at, most)...)); possible != nil {
			path, isPossible = possible, true
		}
	}
	run, mayExist := m.findOpenRead(u, number, path)
	if !mayExist || !isPossible && run == nil {
		return
	}
	written, verb := m.findWritten(number), "written"
	if written == nil {
		f.report(u.SpanOf(r.Path[0]), "%s is read, but no node writes it; give it a default, or required: true", m.describeVariable(number))
		return
	}
	if m.variables[number].key < 0 {
		verb = "made"
	}
	may := "may not be"
	if run != nil {
		may = "is not"
		if !isSubsequence(path, run) {
			path = run
		}
	}
	d := f.report(u.SpanOf(r.Path[0]), "%s %s %s yet, on the path %s", m.describeVariable(number), may, verb, f.pathText(path))
	d.Related = append(d.Related, f.related(*written, "it is %s here", verb))
}

// findWritten returns where a variable is assigned, or nil.
func (m *assignments) findWritten(number int) *spec.Span {
	of := m.variables[number]
	if of.key < 0 {
		return &m.f.graph.Nodes[of.node].ID.Span
	}
	for _, w := range m.f.writes() {
		if w.Key == of.key {
			return &w.Name.Span
		}
	}
	return nil
}

// findOpenPath returns the first path that a run may take without assigning the variable, or nil. The
// conditions on it must hold together, and no concurrent branch may surely assign the variable.
func (m *assignments) findOpenPath(u *dataflow.Use, r eval.Read, number int, paths [][]int) []int {
	earlier := listEarlierParts(u.Program.Tree, r)
	for _, path := range paths {
		claims, isPossible := m.listPathClaims(path, number)
		claims = append(claims, earlier...)
		for i, c := range claims { // in pairs, since all of them have too many combinations
			excludes := func(d solve.Claim) bool { return !m.f.canAllHold(nil, []solve.Claim{c, d}) }
			isPossible = isPossible && !slices.ContainsFunc(claims[:i], excludes)
		}
		if isPossible {
			return path
		}
	}
	return nil
}

// listPathClaims returns the conditions that hold at the end of a path. The path is impossible if another
// branch surely assigns the variable before a join on the path.
func (m *assignments) listPathClaims(path []int, number int) (claims []solve.Claim, isPossible bool) {
	f := m.f
	for i, v := range path[:len(path)-1] {
		leads := func(g controlflow.Group) bool { return slices.Contains(g.Targets, path[i+1]) && !f.isDead(&g) }
		k := slices.IndexFunc(f.flow().Groups[v], leads)
		if k < 0 || slices.ContainsFunc(f.flow().Groups[v][k+1:], leads) {
			continue // several groups may lead there
		}
		after := f.flow().Digraph.Reach(path[i+1])
		isKept := func(name string) bool { // no later node writes the key
			return f.graph.Key(name) != nil && !slices.ContainsFunc(f.writersOf()[name], func(n *spec.Node) bool { return after[n.Index] })
		}
		claims = append(claims, f.listClaims(arc{From: v, To: path[i+1], Group: k}, isKept)...)
		g := &f.flow().Groups[v][k]
		join := slices.IndexFunc(path[i+1:], func(v int) bool { return v < f.End && (m.WaitsForAll(v) || f.flow().Joins[v]) })
		if join < 0 || controlflow.ParallelOf(f.graph, v).OnFailure != "fail_all" {
			continue
		}
		for _, t := range g.Targets {
			if t == path[i+1] || !m.SurelyAssigns(t, path[i+1+join], number) {
				continue
			}
			if !g.Subset {
				return nil, false
			}
			if fires := f.listClaims(arc{From: v, To: t, Group: k}, isKept); len(fires) == 1 {
				claims = append(claims, solve.Claim{Tree: fires[0].Tree, Holds: !fires[0].Holds})
			}
		}
	}
	return claims, true
}

// findOpenRead searches along a path for a run that evaluates a use while a variable is unassigned.
// mayExist is false if it tried every run and found none.
func (m *assignments) findOpenRead(u *dataflow.Use, number int, path []int) (run []int, mayExist bool) {
	q := explore.Question{Hopeless: m.f.hopelessAfter(u.Node)}
	var read []string
	if of := m.variables[number]; of.key >= 0 {
		q.Omit = m.f.graph.State[of.key].Name.Value
		read = []string{q.Omit}
	} else {
		q.Visits = map[int]int{of.node: 1}
		read = []string{"nodes", m.f.Name(of.node), "output"}
	}
	var reader *explore.Run // the run whose last event read the variable too early
	q.Evaluates = func(r *explore.Run, p *eval.Program, env map[string]any) {
		ignore := func([]any, any) string { return "" }
		if p == u.Program && valueAt(env, read) == nil && mentions(new(eval.VM).Explain(p, env, ignore), read[0]) {
			reader = r
		}
	}
	q.Found = func(r *explore.Run) bool {
		read := r == reader
		reader = nil
		isOfNode := func(n machine.Note) bool { return n.Node == m.f.Name(u.Node) } // nodes may share a program
		return read && (u.Node < 0 || r.State.Failure != nil && r.State.Failure.Node == m.f.Name(u.Node) || slices.ContainsFunc(r.State.Notes(), isOfNode))
	}
	a := m.f.findRun(path, q)
	if u.Node < 0 && a.Found {
		a.Witness = append(a.Witness, m.f.End)
	}
	return a.Witness, a.Found || a.Gap != ""
}

// mentions reports whether an evaluated part of a condition contains a name.
func mentions(r eval.Reason, name string) bool {
	if len(r.Parts) > 0 {
		return slices.ContainsFunc(r.Parts, func(part eval.Reason) bool { return mentions(part, name) })
	}
	return r.Evaluated && strings.Contains(r.Source, name)
}
