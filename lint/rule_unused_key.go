// unused-key: a state key that nothing reads or writes.

package lint

import (
	"regexp"
	"slices"
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
	used := make(map[string]bool, len(f.graph.State))
	for v, a := range f.access() {
		if a.SeesAll {
			return
		}
		n := f.graph.Nodes[v]
		for _, w := range a.Writes {
			used[w.Name.Value] = true
		}
		mark(used, n.Reads)
		if n.Decide != nil {
			mark(used, n.Decide.See)
		}
		if n.Cache != nil {
			mark(used, n.Cache.Keys)
		}
	}
	if f.graph.Cache != nil {
		mark(used, f.graph.Cache.Keys)
	}
	for _, p := range f.bound.Approvals {
		for _, r := range p.Reads() {
			if r.Path[0] == "state" && len(r.Path) < 2 {
				return
			} else if r.Path[0] == "state" {
				used[r.Path[1]] = true
			}
		}
	}
	all := f.uses().All
	for i := range all {
		for _, r := range all[i].Program.Reads() {
			if r.Path[0] == "state" || r.Path[0] == "run" && (len(r.Path) < 3 || r.Path[1] == "input") {
				if r.Path[0] == "state" || len(r.Path) < 3 {
					return // the whole state
				}
				used[r.Path[2]] = true
			}
			if r.Path[0] == "input" { // of the first node, the run's input
				if len(r.Path) < 2 {
					return
				}
				used[r.Path[1]] = true
			}
			used[r.Path[0]] = true
		}
	}
	f.usedElsewhere(used)
	for _, key := range f.graph.State {
		if !used[key.Name.Value] {
			f.report(key.Name.Span, "state key %q is neither read nor written", key.Name.Value)
		}
	}
}

func mark(used map[string]bool, names []spec.Text) {
	for _, name := range names {
		used[name.Value] = true
	}
}

// usedBySetup marks the inputs that tools and providers read.
func (f *facts) usedBySetup(used map[string]bool) {
	for _, fields := range [][]bind.Field{f.bound.Tools, f.bound.Providers} {
		for i := range fields {
			fields[i].Value.Reads(func(r eval.Read) {
				switch {
				case r.Path[0] != "run" || len(r.Path) > 1 && r.Path[1] != "input":
				case len(r.Path) > 2:
					used[r.Path[2]] = true
				default: // all of them
					for _, key := range f.graph.State {
						used[key.Name.Value] = true
					}
				}
			})
		}
	}
}

// usedElsewhere marks keys that policies, cache keys, tools and providers read.
func (f *facts) usedElsewhere(used map[string]bool) {
	f.usedBySetup(used)
	programs := slices.Clone(f.bound.Never)
	for _, p := range programs {
		if p != nil {
			markReads(used, p)
		}
	}
	caches := f.caches()
	for _, key := range f.graph.State {
		for _, cache := range caches {
			used[key.Name.Value] = used[key.Name.Value] || mentions(cache, key.Name.Value)
		}
	}
}

func markReads(used map[string]bool, p *eval.Program) {
	for _, r := range p.Reads() {
		used[r.Path[0]] = true
	}
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
