package explore

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// explorePolicy explores a graph with one policy.
func explorePolicy(t *testing.T, text string, change func(q *Question)) (Answer, []string) {
	t.Helper()
	if !strings.Contains(text, "limits:") {
		text = "limits: {timeout: 1h}\n" + text
	}
	g, ds := spec.Parse("g.yaml", []byte("graphrun: v1\nname: g\n"+text), spec.Options{})
	if ds = append(ds, spec.Check(g)...); ds.HasErrors() {
		t.Fatal(ds)
	}
	bound, _ := bind.Bind(g, nil, nil)
	plan, ds := machine.BuildBound(g, bound, nil, nil)
	if plan == nil {
		t.Fatal(ds)
	}
	vertices := controlflow.NewVertices(g)
	flow := controlflow.New(vertices, bound)
	var never *eval.Program
	at := -1
	for i, condition := range bound.Never {
		if condition != nil {
			never, at = condition, g.Node(g.Policies[i].Get("at").Text.Value).Index
		}
	}
	budget := 100_000
	q := Question{Model: NewModel(flow, bound, dataflow.NewUses(g, bound, vertices.From), never, at), Plan: plan, Watch: -1, Budget: &budget, Most: budget}
	if change != nil {
		change(&q)
	}
	a := Explore(q)
	var path []string
	for _, v := range a.Witness {
		path = append(path, g.Nodes[v].ID.Value)
	}
	return a, path
}

func TestExplore(t *testing.T) {
	const gate = "start: a\npolicies: [{require: ok, before: ship}]\n"
	const unanswered = gate + `
nodes: {a: {kind: human, prompt: x, timeout: 9h, remind: {after: 1h}}, ok: {kind: pass}, ship: {kind: pass}}
edges:
  - {from: a, to: ok}
  - {from: a, to: ship, condition: on_failure}
  - {from: ok, to: ship}
  - {from: ship, to: END}`
	const lastWriter = `
state: {k: {type: string, enum: ['', b, c], default: ''}}
nodes: {a: {kind: pass}, b: {kind: exec, command: [x], writes: {k: "'b'"}}, c: {kind: exec, command: [x], writes: {k: "'c'"}}, d: {kind: pass, join: {wait: all}}, ok: {kind: pass}, ship: {kind: pass}}
edges:
  - {from: a, to: [b, c]}
  - {from: [b, c], to: d}
  - {from: d, to: ship, when: k == 'b'}
  - {from: d, to: ok}
  - {from: ok, to: ship}
  - {from: ship, to: END}`
	for name, c := range map[string]struct {
		text   string
		change func(q *Question)
		want   string // the witness, "proven", or the gap
	}{
		"a value that an enum lists": {gate + `
state: {risk: {type: string, enum: [low, high], required: true}}
nodes: {a: {kind: pass}, ok: {kind: pass}, ship: {kind: pass}}
edges:
  - {from: a, to: ok, when: risk == 'high'}
  - {from: a, to: ship}
  - {from: ok, to: ship}
  - {from: ship, to: END}`, nil, "a"},
		"every value of an enum": {gate + `
state: {risk: {type: string, enum: [low, high], required: true}}
nodes: {a: {kind: pass}, ok: {kind: pass}, ship: {kind: pass}}
edges:
  - {from: a, to: ok, when: risk == 'high'}
  - {from: a, to: ok, when: risk == 'low'}
  - {from: a, to: ship}
  - {from: ok, to: ship}
  - {from: ship, to: END}`, nil, "proven"},
		"a value that only an expression needs on the way": {gate + `
state: {l: {type: string}, m: {type: string}}
nodes: {a: {kind: set, set: {m: "l + 'x'"}}, ok: {kind: set, set: {l: "'x'"}}, ship: {kind: pass}}
edges:
  - {from: a, to: ship}
  - {from: ok, to: ship}
  - {from: ship, to: END, when: visits.ship < 9}
  - {from: ship, to: ok}`, nil, "a"},
		"a default that keeps a node from succeeding": {gate + `
state: {s: {type: integer, default: 0, minimum: 0, reducer: sum}}
nodes: {a: {kind: set, set: {s: -1}}, ok: {kind: pass}, ship: {kind: pass}}
edges:
  - {from: a, to: ship}
  - {from: ok, to: ship}
  - {from: ship, to: END, when: visits.ship < 9}
  - {from: ship, to: ok}`, nil, `what "a" computes fails with the values that are tried`},
		"the same again after more steps": {`start: n0
limits: {timeout: 1h, max_steps: 14}
state: {i: {type: integer, minimum: 0, maximum: 3, default: 0}}
policies: [{max_visits: 2, node: n2}]
nodes: {n0: {kind: pass}, n1: {kind: exec, command: [x]}, n2: {kind: exec, command: [x]}, n3: {kind: pass, join: {wait: all}}}
edges:
  - {from: n0, to: n3, when: visits.n2 < 1}
  - {from: n0, to: n3}
  - {from: n1, to: n2, condition: on_failure, when: visits.n0 < 2}
  - {from: n1, to: [n0, n2]}
  - {from: n2, to: n0}
  - {from: n3, to: END, when: i < 2}
  - {from: n3, to: n1}`, func(q *Question) { q.Guide = []int{0, 3, 1, 2, 0, 3, 1, 2, 0, 3, 1}; q.Visits = map[int]int{2: 3} }, "n0 n3 n1 n2 n0 n3 n1 n2 n0 n3 n1"},
		"the later branch wins, whoever ends last": {gate + lastWriter, nil, "proven"},
		"the earlier branch wins":                  {gate + "parallel: {conflict: first_wins}" + lastWriter, nil, "a b c d"},
		"more values than are tried": {gate + `
state: {n: {type: integer, required: true}}
nodes: {a: {kind: pass}, ok: {kind: pass}, ship: {kind: pass}}
edges:
  - {from: a, to: ok, when: n * n >= 0}
  - {from: a, to: ship}
  - {from: ok, to: ship}
  - {from: ship, to: END}`, nil, `"n" may have many values`},
		"a result that fits a pattern": {gate + `
state: {id: {type: string, pattern: '^[A-Z]{3}$'}}
nodes: {a: {kind: exec, command: [x], writes: [id]}, ok: {kind: pass}, ship: {kind: pass}}
edges:
  - {from: a, to: ship, when: "id != None and len(id) == 3"}
  - {from: a, to: ok}
  - {from: ok, to: ship}
  - {from: ship, to: END}`, nil, "a"},
		"a result of the shape that expressions expect": {gate + `
state:
  sharp: {type: array, items: {type: number, minimum: 0, maximum: 1}, default: []}
  gone: {type: array, items: {type: string}, default: []}
  peak: {type: number, default: 0}
nodes:
  a: {kind: exec, command: [x], writes: {sharp: "map(output.papers, #.sharp)", gone: "output.gone ?? []", peak: max(output.sizes)}}
  ok: {kind: pass}
  ship: {kind: pass}
edges:
  - {from: a, to: ship, when: "any(sharp, # < 0.6)"}
  - {from: a, to: ok}
  - {from: ok, to: ship}
  - {from: ship, to: END}`, nil, "a"},
		"a failure that is tried again": {gate + `
nodes: {a: {kind: pass}, ok: {kind: exec, command: [x], retry: {max_attempts: 3}}, ship: {kind: pass}}
edges:
  - {from: a, to: ok}
  - {from: ok, to: ship, condition: always}
  - {from: ship, to: END}`, nil, "a ok"},
		"a person, while others go on": {gate + `
nodes: {a: {kind: pass}, ok: {kind: human, prompt: x}, b: {kind: pass}, ship: {kind: pass, join: {wait: any}}}
edges:
  - {from: a, to: [ok, b]}
  - {from: [ok, b], to: ship}
  - {from: ship, to: END}`, nil, "a ok b"},
		"all branches are waited for": {gate + `
nodes: {a: {kind: pass}, ok: {kind: human, prompt: x}, b: {kind: exec, command: [x]}, ship: {kind: pass, join: {wait: all}}}
edges:
  - {from: a, to: [ok, b]}
  - {from: [ok, b], to: ship}
  - {from: ship, to: END}`, func(q *Question) { q.Late = true }, "proven"},
		"nobody answers after a reminder": {unanswered, nil, "a"},
		"nobody answers, in any order":    {unanswered, func(q *Question) { q.Late = true }, "a"},
		"a loop without an end": {gate + `
nodes: {a: {kind: exec, command: [x]}, ok: {kind: pass}, ship: {kind: pass}}
edges:
  - {from: a, to: a, condition: on_failure}
  - {from: a, to: ok}
  - {from: ok, to: ship}
  - {from: ship, to: END}`, nil, "proven"},
		"nothing is guessed of a fixed key": {gate + `
state: {fine: {type: boolean, default: false}}
nodes: {a: {kind: exec, command: [x], writes: [fine]}, ok: {kind: pass}, ship: {kind: pass}}
edges:
  - {from: a, to: ship, when: fine}
  - {from: a, to: ok}
  - {from: ok, to: ship}
  - {from: ship, to: END}`, func(q *Question) { q.Fixed = map[string]bool{"fine": true} }, `"fine" is known at run time only`},
		"visits have counted on since": {gate + `
state: {i: {type: integer, minimum: 0, maximum: 3, required: true}}
nodes: {a: {kind: pass}, ok: {kind: pass}, ship: {kind: pass}}
edges:
  - {from: a, to: a, when: visits.a > 1 or i <= 1}
  - {from: a, to: ship, when: i == 3}
  - {from: a, to: ok}
  - {from: ok, to: ship}
  - {from: ship, to: END}`, nil, "a"},
		"a model that calls no tool": {`
tools: {t: {exec: {command: [x]}, description: x}}
models: {default: openai/x}
` + gate + `
nodes: {a: {kind: llm, prompt: x, tools: [t]}, ok: {kind: pass}, ship: {kind: pass}}
edges:
  - {from: a, to: ok, when: "len(output.tool_calls) > 0 and output.tool_calls[0].name == 't'"}
  - {from: a, to: ship}
  - {from: ok, to: ship}
  - {from: ship, to: END}`, nil, "a"},
		"no budget": {gate + `
nodes: {a: {kind: exec, command: [x]}, ok: {kind: pass}, ship: {kind: pass}}
edges:
  - {from: a, to: ok}
  - {from: ok, to: ship}
  - {from: ship, to: END}`, func(q *Question) { *q.Budget = 1 }, TooMany},
	} {
		if got := describeAnswer(explorePolicy(t, c.text, c.change)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// describeAnswer describes an answer: the path of a witness, or whether all runs were tried.
func describeAnswer(a Answer, path []string) string {
	switch {
	case a.Found:
		return strings.Join(path, " ")
	case a.Gap == "":
		return "proven"
	}
	return a.Gap
}

// The same question has the same answer.
func TestExploreIsDeterministic(t *testing.T) {
	text := `start: a
policies: [{max_visits: 2, node: b}]
state: {n: {type: integer, minimum: 0, maximum: 9, default: 0}, q: {type: array, items: {type: string}, default: []}}
nodes: {a: {kind: exec, command: [x], writes: [q]}, b: {kind: set, set: {n: n + 1}}, c: {kind: human, prompt: x, choices: ['yes', 'no']}}
edges:
  - {from: a, to: [b, c]}
  - {from: b, to: a, when: "n < 5 and len(q) > 1"}
  - {from: [b, c], to: END}`
	first := ""
	for range 5 {
		var left *int
		a, path := explorePolicy(t, text, func(q *Question) { left = q.Budget })
		if got := fmt.Sprint(a.Found, a.Gap, path, *left); first == "" {
			first = got
		} else if got != first {
			t.Fatalf("%s, then %s", first, got)
		}
	}
	if !strings.HasPrefix(first, "true") {
		t.Errorf("%s, want a witness", first)
	}
}
