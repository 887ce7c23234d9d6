// The rules about leftovers, unused-key and unused-ignore, and the filter of all findings.

package lint

import (
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/domain"
	"github.com/graphrun/graphrun/internal/analysis/suppress"
	"github.com/graphrun/graphrun/internal/lazyregexp"
	"github.com/graphrun/graphrun/spec"
)

// position is a span of a file.
type position struct {
	file *spec.File
	span spec.Span
}

// Filter drops findings that comments silence, reports comments that silence nothing, and sorts.
func Filter(file *spec.File, found spec.Diagnostics) spec.Diagnostics {
	seen := map[position]bool{} // the parser and the compiler of expressions may both report a type
	found.Locate()
	found = slices.DeleteFunc(found, func(d spec.Diagnostic) bool {
		at := position{d.File, d.Span}
		again := seen[at]
		seen[at] = again || d.Rule == "type-mismatch"
		return again && d.Rule == "type-mismatch"
	})
	return suppress.Apply(file, found, RuleNames, OptionalRules).Sort()
}

func checkUnusedKeys(f *facts) {
	f.checkUnusedAnswers()
	used, all := f.findUsedKeys()
	for _, key := range f.graph.State {
		if !all && !used[key.Name.Value] {
			f.report(key.Name.Span, "state key %q is neither read nor written", key.Name.Value)
		} else if n := f.findUnwrittenYield(key); n != nil {
			f.report(key.Name.Span, "nothing writes state key %q, although %q yields it; add it to the writes of the node", key.Name.Value, n.ID.Value)
		}
	}
}

// findUnwrittenYield returns a node whose output has a member with the name of a key, and which writes
// only other keys. It returns nil if there is none, or if some node writes the key.
func (f *facts) findUnwrittenYield(key *spec.StateKey) *spec.Node {
	name := key.Name.Value
	if key.Default == nil || len(f.writersOf()[name]) > 0 { // read-before-write reports keys without a default
		return nil
	}
	i := slices.IndexFunc(f.graph.Nodes, func(n *spec.Node) bool {
		return domain.Subschema(domain.OutputPart(n, nil), name) != nil && len(n.Writes.Keys)+len(n.Writes.Exprs) > 0
	})
	if i < 0 {
		return nil
	}
	return f.graph.Nodes[i]
}

// checkUnusedAnswers reports answers and declared outputs that nothing reads.
func (f *facts) checkUnusedAnswers() {
	taken := map[string]bool{}                                // nodes whose output something reads; "" for all
	readsInput, readsMember := map[int]bool{}, map[int]bool{} // by node
	for u, r := range f.uses().Reads() {
		switch path := append(r.Path[:len(r.Path):len(r.Path)], ""); path[0] {
		case "output":
			if u.Node >= 0 && u.Moment != dataflow.Before {
				taken[f.Name(u.Node)] = true
			}
		case "nodes", "history", "inputs", "branches":
			taken[path[1]] = true
		case "input":
			taken[""] = taken[""] || u.Node < 0
			readsInput[u.Node] = readsInput[u.Node] || len(r.Path) == 1
			readsMember[u.Node] = true
		}
	}
	passed := map[int]bool{} // pass nodes, whose output is their input
	isText := false
	var isTaken func(v int) bool
	isTaken = func(v int) bool {
		if taken[""] || taken[f.Name(v)] {
			return true
		}
		return slices.ContainsFunc(f.Out[v], func(e int) bool {
			to := f.To[e]
			if isDecided := f.graph.Edges[e].Condition == "llm_decide"; isDecided || to >= f.End {
				return isDecided || to == f.End && f.graph.Output == nil
			}
			if f.graph.Nodes[to].Kind.Value == "pass" && !passed[to] {
				passed[to] = true
				return isTaken(to)
			}
			return readsInput[to] || readsMember[to] && !isText || f.access()[to].SeesAll
		})
	}
	isAnyModel, most := slices.ContainsFunc(f.graph.Nodes, isModel), 64
	for v, n := range f.graph.Nodes {
		choices := n.Field("choices")
		isAsked := n.Kind.Value == "human" && (choices != nil && len(choices.Items) != 1 || n.Field("schema") != nil)
		if isAsked && isAnyModel { // later models see the answer in the conversation
			behind := f.alive().Reach(f.listSuccessors(v)...)
			isAsked = !slices.ContainsFunc(f.graph.Nodes, func(n *spec.Node) bool { return isModel(n) && behind[n.Index] })
		} else if n.Kind.Value == "human" && choices == nil && !isAsked && most > 0 {
			isAsked = f.asksForKey(n)
			most--
		}
		isDeclared := n.Output != nil && n.Kind.Value != "pass" && (!isAnyModel || isModel(n) && n.Conversation != nil)
		if !isAsked && !isDeclared || len(n.Writes.Keys)+len(n.Writes.Exprs) > 0 || choosesNext(n) || n.Final {
			continue
		}
		isText = n.Kind.Value == "human" && n.Field("schema") == nil
		if clear(passed); !isTaken(v) {
			f.report(n.ID.Span, "nothing uses the output of %q: no writes, condition or expression reads it", n.ID.Value)
		}
	}
}

// asksForKey reports whether only expressions after a node read some key that nothing writes.
func (f *facts) asksForKey(n *spec.Node) bool {
	behind := f.alive().Reach(n.Index)
	return slices.ContainsFunc(f.graph.State, func(key *spec.StateKey) bool {
		name := key.Name.Value
		reads := func(u *dataflow.Use) bool { return u.Program.Uses(name) }
		isElsewhere := func(u *dataflow.Use) bool { return reads(u) && (u.Node < 0 || !behind[u.Node]) }
		return !key.Required && key.Default == nil && len(f.writersOf()[name]) == 0 &&
			slices.ContainsFunc(f.uses().All, reads) && !slices.ContainsFunc(f.uses().All, isElsewhere)
	})
}

// findUsedKeys returns the names of used state keys, and whether something reads the whole state.
func (f *facts) findUsedKeys() (names map[string]bool, all bool) {
	names = make(map[string]bool, len(f.graph.State))
	add := func(texts ...spec.Text) {
		for _, text := range texts {
			names[text.Value] = true
		}
	}
	read := func(r eval.Read) {
		path := r.Path
		if path[0] == "run" {
			path = path[1:]
		}
		switch {
		case len(path) > 0 && path[0] != "state" && path[0] != "input": // the first node gets the input of the run
			names[r.Path[0]] = true
		case len(path) < 2:
			all = true
		default:
			names[path[1]] = true
		}
	}
	cache := func(c *spec.Cache) {
		if c != nil {
			add(c.Keys...)
			for _, word := range words.Get().FindAllString(c.Key.Value, -1) { // which nothing compiles yet
				names[word] = true
			}
		}
	}
	cache(f.graph.Cache)
	for v, a := range f.access() {
		n := f.graph.Nodes[v]
		all = all || a.SeesAll
		add(n.Reads...)
		if n.Decide != nil {
			add(n.Decide.See...)
		}
		cache(n.Cache)
		add(collect(a.Writes, func(w dataflow.Write) spec.Text { return w.Name })...)
	}
	programs := slices.Concat(f.bound.Approvals, f.bound.Never, collect(f.uses().All, func(u *dataflow.Use) *eval.Program { return u.Program }))
	for _, p := range programs {
		for i := 0; p != nil && i < len(p.Reads); i++ {
			read(p.Reads[i])
		}
	}
	for _, field := range slices.Concat(f.bound.Tools, f.bound.Providers) {
		field.Value.VisitReads(read)
	}
	ref := f.graph.Ref() // a model may give the parameters of the tools that run the graph
	for _, tool := range f.graph.FileGraph().Tools {
		graph, properties := tool.Value.Get("graph"), tool.Value.Get("parameters").Get("properties")
		if ref != "" && graph != nil && graph.Text.Value == ref && properties != nil {
			add(collect(properties.Fields, func(p spec.Field) spec.Text { return p.Key })...)
		}
	}
	return names, all
}

// words matches the identifiers in a text.
var words = lazyregexp.New(`\w+`)
