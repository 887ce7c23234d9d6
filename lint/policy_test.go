package lint_test

import (
	"strings"
	"testing"

	"github.com/graphrun/graphrun/lint"
	"github.com/graphrun/graphrun/spec"
)

// Policies of typical flows stay decided, both proven and broken ones.
func TestUsualPolicies(t *testing.T) {
	const (
		gate = "start: a\npolicies: [{require: approve, before: deploy}]\nnodes:\n  a: {kind: pass}\n  approve: {kind: human, prompt: ok}\n  test: {kind: exec, command: [x]}\n"
		ways = "edges:\n  - {from: a, to: [approve, test]}\n  - {from: [approve, test], to: deploy}\n  - {from: deploy, to: END}\n"
		loop = "start: write\nstate: {verdict: {type: string}, n: {type: integer, default: 0}}\nnodes:\n  write: {kind: exec, command: [x]}\n  judge: {kind: exec, command: [x], writes: [verdict]}\n  count: {kind: set, set: {n: n + 1}}\n  send: {kind: exec, command: [x]}\n" +
			"edges:\n  - {from: write, to: judge}\n  - {from: judge, to: count, when: \"verdict startsWith 'REJECT' and visits.write < 3\"}\n  - {from: judge, to: send}\n  - {from: count, to: write}\n  - {from: send, to: END}\n"
		each = "start: a\nstate: {k: {type: array, default: []}}\nnodes:\n  a: {kind: pass}\n  b: {kind: exec, command: [x], each: k}\n  c: {kind: exec, command: [x]}\n  d: {kind: pass, join: {wait: 2}}\n" +
			"edges:\n  - {from: a, to: [b, c]}\n  - {from: [b, c], to: d}\n  - {from: d, to: END}\n"
		// With the default, s becomes -1, which its schema refuses. With an input it does not.
		adds = "start: a\nstate: {s: {type: integer, minimum: 0, default: 0, reducer: sum}}\nnodes:\n  a: {kind: set, set: {s: -1}}\nedges:\n  - {from: a, to: END, when: s > 5}\n  - {from: a, to: a}\n"
		// Only a success of try leads to both alone. When it fails, spin repeats for ever.
		fans = "start: try\nnodes:\n  try: {kind: exec, command: [x]}\n  spin: {kind: pass}\n  both: {kind: pass, join: {wait: all}}\n" +
			"edges:\n  - {from: try, to: [both, spin], condition: on_failure}\n  - {from: try, to: both}\n  - {from: spin, to: spin, when: visits.both < 1}\n  - {from: spin, to: both}\n  - {from: both, to: END}\n"
	)
	for name, c := range map[string]struct {
		text string
		want string // part of the finding; none when empty
	}{
		"join all":             {gate + "  deploy: {kind: pass, join: {wait: all}}\n" + ways, ""},
		"join any":             {gate + "  deploy: {kind: pass, join: {wait: any}}\n" + ways, "a → test → deploy"},
		"joined by itself":     {gate + "  deploy: {kind: pass}\n" + ways, ""},
		"no join":              {"parallel: {join: explicit}\n" + gate + "  deploy: {kind: pass}\n" + ways, "a → test → deploy"},
		"join of two":          {gate + "  deploy: {kind: pass, join: {wait: 2}}\n" + ways, ""},
		"any of programs":      {strings.ReplaceAll(gate, "human, prompt: ok", "exec, command: [x]") + "  deploy: {kind: pass, join: {wait: any}}\n" + ways, "without"},
		"any, done at once":    {strings.ReplaceAll(gate, "human, prompt: ok", "pass") + "  deploy: {kind: pass, join: {wait: any}}\n" + ways, ""},
		"each beside":          {"policies: [{require: b, before: d}]\n" + each, ""},
		"after both":           {"policies: [{forbid: d, after: c}]\n" + each, "after"},
		"loop, too often":      {"policies: [{max_visits: 2, node: write}]\n" + loop, "more than 2 times"},
		"loop, just enough":    {"policies: [{max_visits: 3, node: write}]\n" + loop, ""},
		"loop, skipped":        {"policies: [{require: count, before: send}]\n" + loop, "write → judge → send"},
		"loop, passed":         {"policies: [{require: judge, before: send}]\n" + loop, ""},
		"loop, back":           {"policies: [{forbid: judge, after: count}]\n" + loop, "can run after"},
		"loop, not back":       {"policies: [{forbid: write, after: send}]\n" + loop, ""},
		"behind a breakpoint":  {"pause_before: [count]\npolicies: [{forbid: judge, after: count}]\n" + loop, "can run after"},
		"end stays reachable":  {"policies: [{reach: END, from: write}]\n" + loop, ""},
		"no way to it":         {"policies: [{reach: write, from: send}]\n" + loop, "can't be reached"},
		"never on every path":  {"policies: [{never: \"visits.write > 0\", at: send}]\n" + loop, "is true at"},
		"never, by a count":    {"policies: [{never: \"n > 1\", at: send}]\n" + loop, "is true at"},
		"never, left to a run": {"policies: [{never: \"verdict == 'X'\", at: send}]\n" + loop, ""},
		"fails at 0 only":      {"policies: [{max_visits: 1, node: a}]\n" + adds, "can run more than 1 time"},
		"failed, with others":  {"policies: [{require: try, before: END}]\n" + fans, ""},
	} {
		text := "graphrun: v1\nname: g\n" + c.text
		g, ds := spec.Parse("g.yaml", []byte(text), spec.Options{})
		if ds = append(ds, spec.Check(g)...); ds.HasErrors() {
			t.Fatalf("%s: %v", name, ds)
		}
		found := ""
		for _, d := range lint.Check(g, lint.Options{}) {
			if d.Rule == "policy-violated" {
				found += d.Message
			}
		}
		if (found == "") != (c.want == "") || !strings.Contains(found, c.want) {
			t.Errorf("%s: found %q, want %q", name, found, c.want)
		}
	}
}
