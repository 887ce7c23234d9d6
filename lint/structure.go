// Rules that reading the file, spec.Check or the compiler of expressions check, and those about
// leftovers: unused-key, unused-ignore.

package lint

import (
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/domain"
	"github.com/graphrun/graphrun/internal/analysis/suppress"
	"github.com/graphrun/graphrun/internal/graphalg"
	"github.com/graphrun/graphrun/internal/lazyregexp"
	"github.com/graphrun/graphrun/spec"
)

func structureRules() []Rule {
	return []Rule{{
		Name: "syntax", Group: "structure", Severity: spec.Error,
		Summary: "the file is not readable YAML or JSON",
		Doc:     "The text can not be read: an unclosed bracket or quote, a tab as indentation, a character that may not stand in YAML, more than one document, or nesting beyond any need. Nothing else of the file can be checked.",
		Good:    oneNode, change: []string{"pass}", "pass"},
	}, {
		Name: "duplicate-key", Group: "structure", Severity: spec.Error,
		Summary: "a key stands twice in one map",
		Doc:     "Of two entries with one key only one can count, and readers disagree which. Remove one, or rename it.",
		Good:    oneNode, change: []string{"  a: {kind: pass}", "  a: {kind: pass}\n  a: {kind: pass}"},
	}, {
		Name: "unknown-key", Group: "structure", Severity: spec.Error,
		Summary: "a key that the language does not have",
		Doc:     "Unknown keys are refused at any depth, since a misspelt key would otherwise do nothing. Keys that begin with x- are yours and ignored.",
		Bad:     singleNode("a", "", "{kind: pass, timout: 3s}"),
		change:  []string{"timout: 3s", "timeout: 3s, x-owner: me"},
	}, {
		Name: "missing-field", Group: "structure", Severity: spec.Error, needs: needNode, check: checkGivenFields,
		Summary: "a required key is absent",
		Doc:     "The file, a node, an edge or a call of a subgraph or a tool lacks a key that it can not do without.",
		Bad:     example + "nodes:\n  a: {kind: fail}\nedges: []\n",
		change:  []string{"kind: fail", "kind: fail, message: nothing to do"},
	}, {
		Name: "invalid-value", Group: "structure", Severity: spec.Error, needs: needNode, check: checkFinalPeople,
		Summary: "a value that its key does not admit",
		Doc:     "The value is of the wrong kind, out of range, or none of the words that the key takes. The message lists what is allowed.",
		Bad:     singleNode("a", "", "{kind: pass, timeout: soon}"),
		change:  []string{"soon", "30s"},
	}, {
		Name: "reserved-name", Group: "structure", Severity: spec.Error,
		Summary: "a name that the language keeps for itself",
		Doc:     "START, END, __start__ and __end__ are no node names; state keys can not take the names that expressions have of their own, such as output, input or visits, nor words of the expression language.",
		Bad:     singleNode("a", "state:\n  output: {type: string, default: \"\"}\n", "{kind: pass}"),
		change:  []string{"state:\n  output:", "output: result\nstate:\n  result:"},
	}, {
		Name: "missing-start", Group: "structure", Severity: spec.Error,
		Summary: "the graph names no first node",
		Doc:     "A run begins at the node that the key start names.",
		Good:    oneNode, change: []string{"start: a\n", ""},
	}, {
		Name: "unknown-node", Group: "structure", Severity: spec.Error, needs: needNode, check: checkLabels,
		Summary: "a name of no node of the graph",
		Doc:     "An edge, start, finish, ends or a pause names a node that does not exist, or goto a label that ends does not have. The message suggests the nearest name.",
		Bad:     example + passNodes("a", "review") + edges("from: a, to: reveiw", "from: a, to: review, when: step < 2", "from: review, to: END"),
		change:  []string{"reveiw}\n  - {from: a, to: review, when: step < 2}", "review}"},
	}, {
		Name: "no-outgoing-edge", Group: "structure", Severity: spec.Error,
		Summary: "a node from which no edge leads on",
		Doc:     "A branch that reaches the node gets stuck. Give it an edge, to END if the run is over there; a fail node needs none.",
		Good:    twoNodes, change: []string{"\n  - {from: b, to: END}", ""},
	}, {
		Name: "edge-from-end", Group: "structure", Severity: spec.Error,
		Summary: "an edge that leaves END",
		Doc:     "END completes a branch, so nothing can follow it. Put the next step before END.",
		Good:    twoNodes, change: []string{"b, to: END}", "b, to: END}\n  - {from: END, to: a}"},
	}, {
		Name: "duplicate-edge", Group: "structure", Severity: spec.Warning, needs: needAll, check: checkPointless,
		Summary: "an edge between two nodes beside another one that makes it pointless",
		Doc:     "Two edges have one target, and one of them can never make a difference: the conditions are the same, or where the one does not fire the next one does. It is left over from an edit, or was meant for another target.",
		Good:    twoNodes, change: []string{"  - {from: b, to: END}", "  - {from: a, to: b}\n  - {from: b, to: END}"},
	}, {
		Name: "unreachable-node", Group: "structure", Severity: spec.Error,
		Summary: "a node that no path from the start reaches",
		Doc:     "No edge leads there, so it never runs. Connect it, or remove it.",
		Good:    twoNodes, change: []string{"a, to: b", "a, to: END"},
	}, {
		Name: "end-unreachable", Group: "structure", Severity: spec.Error,
		Summary: "no path leads to END or to a fail node",
		Doc:     "Without a path to END or to a fail node, a run can end only at a limit.",
		Good:    example + passNodes("a", "b") + edges("from: a, to: b", "from: b, to: a, when: visits.a < 3", "from: b, to: END"),
		change:  []string{"a, when: visits.a < 3}\n  - {from: b, to: END}", "a}"},
	}, {
		Name: "inescapable-cycle", Group: "structure", Severity: spec.Error,
		Summary: "a cycle without a way out",
		Doc:     "Other paths end, but a run that enters this cycle never leaves it. Add an edge that leads out.",
		Bad:     example + passNodes("a", "b", "c") + edges("from: a, to: b, when: run.id startsWith 'x'", "from: a, to: END", "from: b, to: c", "from: c, to: b"),
		change:  []string{"c, to: b}", "c, to: b, when: visits.b < 3}\n  - {from: c, to: END}"},
	}, {
		Name: "unknown-state-key", Group: "data", Severity: spec.Error, needs: needNode, check: checkChildKeys,
		Summary: "a name of no declared state key",
		Doc:     "reads, writes, set, a cache key or the with of a subgraph names a key that is not declared under state. Declare it, or set strict_state: false to allow undeclared keys.",
		Bad:     singleNode("a", "output: total\nstate:\n  total: {type: integer, default: 0}\n", "{kind: set, set: {totl: 1}}"),
		change:  []string{"totl", "total"},
	}, {
		Name: "type-mismatch", Group: "data", Severity: spec.Error, needs: needNode, check: checkTypes,
		Summary: "a value of the wrong type for the key that takes it",
		Doc: "A default, a literal, or the result of an expression does not fit the schema of the state key, the subgraph's key or the tool's argument that takes it. Of an enum each value must fit, also of one that a subgraph or another key hands over, and of a range its ends. The form that a person fills in may not admit or leave out what the key refuses. " +
			"A key with a reducer takes only what is new: with sum, n + 5 adds n twice. A number that a set node counts with must stay in its range, a wait needs a duration: a text that is put together may not begin or end as none does.",
		Bad:    singleNode("a", "output: n\nstate:\n  n: {type: integer, default: many}\n", "{kind: set, set: {n: 1}}"),
		change: []string{"many", "0"},
	}, {
		Name: "retry-on-agent", Group: "models", Severity: spec.Error,
		Summary: "a retry block on an agent node",
		Doc:     "An agent tries again by itself, under its judge; the executor gives it one attempt. Use judge.max_rounds and loop.max_turns.",
		Bad:     singleNode("a", "models: {default: openai/gpt-6-luna}\n", `{kind: agent, prompt: "Tidy up.", timeout: 5m, retry: {max_attempts: 2}}`),
		change:  []string{"retry: {max_attempts: 2}", "judge: {criteria: it is tidy, max_rounds: 2}"},
	}, {
		Name: "expr-syntax", Group: "expressions", Severity: spec.Error,
		Summary: "an expression that can not be read",
		Doc:     "The expression is not complete, holds what the language does not have, or is too long or nested too deep. The mark stands where reading stopped.",
		Good:    guarded, change: []string{"n == 1", "n =="},
	}, {
		Name: "expr-type", Group: "expressions", Severity: spec.Error,
		Summary: "an operation on values of types that it can not take",
		Doc:     "A comparison of a number with a text, a member of a number, an argument of the wrong type. Types come from the schemas under state and from declared outputs.",
		Good:    guarded, change: []string{"n == 1", "n == 'one'"},
	}, {
		Name: "expr-unknown-name", Group: "expressions", Severity: spec.Error,
		Summary: "an unknown name in an expression",
		Doc:     "Expressions see the declared state keys and the names of the run, such as output, input, visits and step. visits and nodes know the nodes of the graph only.",
		Bad:     example + passNodes("a") + edges("from: a, to: a, when: visits.b < 3", "from: a, to: END"),
		change:  []string{"visits.b", "visits.a"},
	}, {
		Name: "expr-not-boolean", Group: "expressions", Severity: spec.Error,
		Summary: "a condition that is neither true nor false",
		Doc:     "A condition must be a boolean: compare the value, as in n > 0 or text != ''.",
		Good:    guarded, change: []string{"n == 1", "n"},
	}}
}

func unusedRules() []Rule {
	return []Rule{{
		Name: "unused-ignore", Group: "structure", Severity: spec.Warning,
		Summary: "a comment silences a rule that has nothing to say there",
		Doc:     "A comment `# graphrun: ignore rule-name` silences the rule on its own line, or, when it stands alone, on the next line that is not a comment; where a block text begins, in all of the text; `# graphrun: ignore-file rule-name` does in all of the file. One that silences nothing, because the problem is solved or the name is wrong, would hide the next problem. Remove it.",
		Bad:     example + "nodes:\n  # graphrun: ignore missing-timeout it is fast\n  a: {kind: pass}\n" + edges("from: a, to: END"),
		change:  []string{"kind: pass", "kind: exec, command: [date]"},
	}, {
		Name: "unused-key", Group: "data", Severity: spec.Warning, needs: needAll, check: checkUnusedKeys,
		Summary: "a state key that nothing reads or writes, or an answer that nothing takes",
		Doc: "No node, edge or output of the graph reads or writes the key. It is left over, or something misspells it. " +
			"The same goes for the answer of a person and for a declared output that nobody writes to a key or reads, for a key that no node writes although one that writes others yields it by name, and for a list of new elements that replaces an earlier one before anything has read that. " +
			"A node that is handed the whole state, as a program on its standard input, counts as a reader of every key.",
		Bad:    singleNode("hello", "output: text\nstate:\n  text: {type: string, default: \"\"}\n  txet: {type: string}\n", `{kind: set, set: {text: "'hello'"}}`),
		change: []string{"\n  txet: {type: string}", ""},
	}}
}

// place is where a finding stands.
type place struct {
	file *spec.File
	span spec.Span
}

// Filter drops the findings that comments of the file silence, adds one for each comment
// that silences nothing, and sorts the rest.
func Filter(file *spec.File, found spec.Diagnostics) spec.Diagnostics {
	seen := map[place]bool{} // the parser and the compiler of expressions may both report a type
	found.Locate()
	found = slices.DeleteFunc(found, func(d spec.Diagnostic) bool {
		at := place{d.File, d.Span}
		again := seen[at]
		seen[at] = again || d.Rule == "type-mismatch"
		return again && d.Rule == "type-mismatch"
	})
	return suppress.Apply(file, found, RuleNames, OptionalRules).Sort()
}

func checkUnusedKeys(f *facts) {
	f.checkUnusedAnswers()
	f.checkReplacedLists()
	used, all := f.findUsedKeys()
	for _, key := range f.graph.State {
		if !all && !used[key.Name.Value] {
			f.report(key.Name.Span, "state key %q is neither read nor written", key.Name.Value)
		} else if n := f.findUnwrittenYield(key); n != nil {
			f.report(key.Name.Span, "nothing writes state key %q, although %q yields it; add it to the writes of the node", key.Name.Value, n.ID.Value)
		}
	}
}

// findUnwrittenYield returns a node that yields a member of the name of a key, but writes only
// others, if no node writes the key. Otherwise it returns nil.
func (f *facts) findUnwrittenYield(key *spec.StateKey) *spec.Node {
	name := key.Name.Value
	if key.Default == nil || len(f.writersOf()[name]) > 0 { // read-before-write reports keys without a default
		return nil
	}
	i := slices.IndexFunc(f.graph.Nodes, func(n *spec.Node) bool {
		return domain.Subschema(domain.Yields(n, nil), name) != nil && len(n.Writes.Keys)+len(n.Writes.Exprs) > 0
	})
	if i < 0 {
		return nil
	}
	return f.graph.Nodes[i]
}

// checkUnusedAnswers reports answers and declared outputs that nothing takes.
func (f *facts) checkUnusedAnswers() {
	taken := map[string]bool{} // nodes whose output something reads; "" for all
	for _, u := range f.uses().All {
		for _, r := range u.Program.Reads() {
			switch path := append(r.Path[:len(r.Path):len(r.Path)], ""); path[0] {
			case "output":
				if u.Node >= 0 && u.Moment != dataflow.Before {
					taken[f.Name(u.Node)] = true
				}
			case "nodes", "history", "inputs", "branches":
				taken[path[1]] = true
			case "input":
				taken[""] = true
			}
		}
	}
	isAnyModel := slices.ContainsFunc(f.graph.Nodes, isModel)
	for v, n := range f.graph.Nodes {
		choices := n.Field("choices")
		isAsked := n.Kind.Value == "human" && (choices != nil && len(choices.Items) != 1 || n.Field("schema") != nil)
		isDeclared := n.Output != nil && n.Kind.Value != "pass" && (!isAnyModel || isModel(n) && n.Conversation != nil)
		if !isAsked && !isDeclared || len(n.Writes.Keys)+len(n.Writes.Exprs) > 0 || choosesNext(n) || n.Final || isAsked && isAnyModel {
			continue
		}
		isTaken := taken[n.ID.Value] || taken[""]
		for _, e := range f.edgesOut()[v] {
			to := f.To[e]
			isTaken = isTaken || f.graph.Edges[e].Condition == "llm_decide" || to == f.End && f.graph.Output == nil ||
				to < f.End && (f.access()[to].SeesAll || f.graph.Nodes[to].Kind.Value == "pass")
		}
		if !isTaken {
			f.report(n.ID.Span, "nothing uses the output of %q: no writes, condition or expression reads it", n.ID.Value)
		}
	}
}

// checkReplacedLists reports lists of new elements that replace those of an earlier step
// before anything reads them.
func (f *facts) checkReplacedLists() {
	type reading struct {
		key  string
		node int
	}
	isRead := map[reading]bool{}
	for _, u := range f.uses().All {
		for _, r := range u.Program.Reads() {
			isRead[reading{r.Path[0], u.Node}] = true
		}
	}
	for k, key := range f.graph.State {
		writers := f.writersOf()[key.Name.Value]
		isOther := func(n *spec.Node) bool {
			return !f.alwaysWrites(n, k) || !isFilled(f.findWrite(n.Index, key.Name.Value).Tree())
		}
		if len(writers) == 0 || !dataflow.Replaces(key) || f.flow().Anywhere || slices.ContainsFunc(writers, isOther) {
			continue
		}
		reads := func(v int) bool { return isRead[reading{key.Name.Value, v}] || v < f.End && f.access()[v].SeesAll }
		unread := f.filterArcs(func(a arc) bool { return !reads(a.from) && !reads(a.to) })
		for _, n := range writers {
			for _, later := range writers {
				if n != later && graphalg.Path(unread.Next, n.Index, later.Index) != nil || n == later && cycleThrough(unread, n.Index) != nil {
					f.report(key.Name.Span, "%q replaces the list in %q that %q wrote, and nothing has read it; give the key reducer: append", later.ID.Value, key.Name.Value, n.ID.Value)
					return
				}
			}
		}
	}
}

// findUsedKeys returns the names of state keys that nodes, edges, policies, cache keys, tools and
// providers use, and whether something reads the whole state.
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
			for _, word := range words().FindAllString(c.Key.Value, -1) { // which nothing compiles yet
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
	programs := slices.Concat(f.bound.Approvals, f.bound.Never, collect(f.uses().All, func(u dataflow.Use) *eval.Program { return u.Program }))
	for _, p := range programs {
		for i := 0; p != nil && i < len(p.Reads()); i++ {
			read(p.Reads()[i])
		}
	}
	for _, field := range slices.Concat(f.bound.Tools, f.bound.Providers) {
		field.Value.Reads(read)
	}
	ref := f.graph.Ref() // a model may give the parameters of the tools that run the graph
	for _, tool := range f.graph.Whole().Tools {
		graph, properties := tool.Value.Get("graph"), tool.Value.Get("parameters").Get("properties")
		if ref != "" && graph != nil && graph.Text.Value == ref && properties != nil {
			add(collect(properties.Fields, func(p spec.Field) spec.Text { return p.Key })...)
		}
	}
	return names, all
}

// words matches the identifiers in a text.
var words = lazyregexp.New(`\w+`)
