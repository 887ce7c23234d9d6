// unused-key: a state key that nothing reads or writes.

package lint

import (
	"regexp"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/spec"
)

func unusedKey() Rule {
	return Rule{
		Name: "unused-key", Group: "data", Severity: spec.Warning, needs: needAll,
		Summary: "a state key that nothing reads or writes",
		Doc: "No node, edge or output of the graph reads or writes the key. It is left over, or something misspells it. " +
			"A node that is handed the whole state, as a program on its standard input, counts as a reader of every key.",
		Bad: `graphrun: v1
name: greet
start: hello
output: text
state:
  text: {type: string, default: ""}
  txet: {type: string}
nodes:
  hello: {kind: set, set: {text: "'hello'"}}
edges:
  - {from: hello, to: END}
`,
		change: []string{"\n  txet: {type: string}", ""},
		check:  checkUnusedKey,
	}
}

func checkUnusedKey(f *facts) {
	used := f.keysUsed()
	for _, a := range f.access() {
		for _, w := range a.Writes {
			used.names[w.Name.Value] = true
		}
	}
	f.asTool(used)
	for _, key := range f.graph.State {
		if !used.all && !used.names[key.Name.Value] {
			f.report(key.Name.Span, "state key %q is neither read nor written", key.Name.Value)
		}
	}
}

// asTool takes in the parameters of the tools that run the graph: a model may give them.
func (f *facts) asTool(used *keyUse) {
	ref := f.graph.Ref()
	for _, tool := range f.graph.Whole().Tools {
		graph, parameters := tool.Value.Get("graph"), tool.Value.Get("parameters")
		if ref == "" || graph == nil || graph.Text.Value != ref || parameters == nil {
			continue
		}
		if properties := parameters.Get("properties"); properties != nil {
			for i := range properties.Fields {
				used.names[properties.Fields[i].Key.Value] = true
			}
		}
	}
}

// keyUse is which state keys something reads; all says that it reads the whole state.
type keyUse struct {
	names map[string]bool
	all   bool
}

func (k *keyUse) list(names []spec.Text) {
	for _, name := range names {
		k.names[name.Value] = true
	}
}

// read takes in a path that is read: that of the input counts too, which for the first node
// is the run's.
func (k *keyUse) read(r eval.Read) {
	path := r.Path
	if path[0] == "run" {
		if path = path[1:]; len(path) > 0 && path[0] != "input" {
			return
		}
	} else if path[0] != "state" && path[0] != "input" {
		k.names[path[0]] = true
		return
	}
	if len(path) < 2 {
		k.all = true
		return
	}
	k.names[path[1]] = true
}

func (k *keyUse) program(p *eval.Program) {
	if p != nil {
		for _, r := range p.Reads() {
			k.read(r)
		}
	}
}

// keysUsed are the keys that nodes, edges, policies, cache keys, tools and providers read.
func (f *facts) keysUsed() *keyUse {
	k := &keyUse{names: make(map[string]bool, len(f.graph.State))}
	for v, a := range f.access() {
		n := f.graph.Nodes[v]
		if k.all = a.SeesAll; k.all {
			return k
		}
		k.list(n.Reads)
		if n.Decide != nil {
			k.list(n.Decide.See)
		}
		if n.Cache != nil {
			k.list(n.Cache.Keys)
		}
	}
	if f.graph.Cache != nil {
		k.list(f.graph.Cache.Keys)
	}
	all := f.uses().All
	for i := range all {
		k.program(all[i].Program)
	}
	for _, programs := range [][]*eval.Program{f.bound.Approvals, f.bound.Never} {
		for _, p := range programs {
			k.program(p)
		}
	}
	for _, fields := range [][]bind.Field{f.bound.Tools, f.bound.Providers} {
		for i := range fields {
			fields[i].Value.Reads(k.read)
		}
	}
	for _, cache := range f.caches() {
		for _, key := range f.graph.State {
			k.names[key.Name.Value] = k.names[key.Name.Value] || mentions(cache, key.Name.Value)
		}
	}
	return k
}

// caches are the cache keys that are expressions, which nothing compiles yet.
func (f *facts) caches() []string {
	var out []string
	if c := f.graph.Cache; c != nil && c.Key.IsSet() {
		out = append(out, c.Key.Value)
	}
	for _, n := range f.graph.Nodes {
		if n.Cache != nil && n.Cache.Key.IsSet() {
			out = append(out, n.Cache.Key.Value)
		}
	}
	return out
}

// mentions reports whether an identifier stands in a text as a word.
func mentions(text, word string) bool {
	return strings.Contains(text, word) && regexp.MustCompile(`\b`+regexp.QuoteMeta(word)+`\b`).MatchString(text)
}
