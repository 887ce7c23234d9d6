package solve

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/eval"
)

// names are the variables of the tests. A ? marks those that may be null.
func domains() map[string]Domain {
	return map[string]Domain{
		"i":     {Kind: Int, Min: 0, Max: 4, HasMin: true, HasMax: true, Why: "i is at most 4"},
		"n":     {Kind: Int},
		"x":     {Kind: Number},
		"pos":   {Kind: Int, HasMin: true},
		"share": {Kind: Number, Min: 0, Max: 1, HasMin: true, HasMax: true},
		"ok":    {Kind: Bool},
		"done":  {Kind: Bool},
		"cat":   {Kind: String, Values: []any{"a", "b", "c"}},
		"cat2":  {Kind: String, Values: []any{"a", "b"}},
		"s":     {Kind: String},
		"t":     {Kind: String},
		"opt":   {Kind: String, Null: true},
		"level": {Kind: Int, Null: true},
		"out":   {Null: true},
		"list":  {Kind: Other},
	}
}

// world is the scope and the domains of the tests.
type world struct {
	domains map[string]Domain
	scope   *eval.Scope
}

func newWorld() *world {
	w := &world{domains: domains()}
	names := map[string]eval.Type{}
	for name, d := range w.domains {
		names[name] = map[Kind]eval.Type{
			Any: eval.Any(), Bool: eval.Bool(), Int: eval.Int(), Number: eval.Float(), String: eval.String(),
			Other: eval.List(eval.Any()),
		}[d.Kind]
	}
	w.scope = eval.NewScope(names, eval.ScopeOptions{})
	return w
}

func (w *world) domain(path []string, _ eval.Type) Domain {
	if len(path) > 1 {
		return Domain{Null: true}
	}
	return w.domains[path[0]]
}

func solveTexts(t testing.TB, texts ...string) Result {
	t.Helper()
	w := newWorld()
	p := Problem{Domain: w.domain}
	for _, text := range texts {
		c, err := w.scope.Compile(text, eval.Condition)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		p.Conditions = append(p.Conditions, c.Tree)
	}
	return new(Solver).Solve(p)
}

func show(r Result) string {
	var out []string
	for i, v := range r.Verdicts {
		switch {
		case v.Always:
			out = append(out, fmt.Sprint(i, " always"))
		case v.Never:
			out = append(out, fmt.Sprint(i, " never"))
		}
		if v.Shadowed {
			out = append(out, fmt.Sprint(i, " by ", v.By))
		}
	}
	switch {
	case r.Exhaustive:
		out = append(out, "exhaustive")
	case len(out) == 0:
		out = append(out, "open")
	}
	return strings.Join(out, "; ")
}

func TestSolve(t *testing.T) {
	for _, c := range []struct {
		want  string
		conds []string
	}{
		{"exhaustive", []string{"n > 3", "n <= 3"}},
		{"open", []string{"n > 3", "n < 3"}},
		{"exhaustive", []string{"n > 3", "n < 4"}},
		{"open", []string{"x >= 4", "x <= 3"}},
		{"open", []string{"x > 3.5", "x < 3.5"}},
		{"exhaustive", []string{"i < 2", "i == 2 or i == 3", "i == 4"}},
		{"exhaustive", []string{"share < 0.5", "share >= 0.5"}},
		{"open", []string{"share > 0"}},
		{"0 always; exhaustive", []string{"share <= 1"}},
		{"0 never", []string{"i > 4"}},
		{"exhaustive", []string{"cat == 'a'", "cat in ['b', 'c']"}},
		{"open", []string{"cat == 'a'", "cat == 'b'"}},
		{`open`, []string{"s == 'a'", "s == 'b'"}},
		{"exhaustive", []string{"s == 'a'", "s != 'a'"}},
		{`open`, []string{"s startsWith 'RE'"}},
		{"1 by [0]", []string{"s startsWith 'RE'", "s startsWith 'REJECT'"}},
		{`open`, []string{"s startsWith 'REJECT'", "s startsWith 'RE'"}},
		{"1 by [0]", []string{"n > 3", "n > 5"}},
		{"2 by [0 1]; exhaustive", []string{"n > 3", "n < 4", "ok"}},
		{"exhaustive", []string{"ok", "not ok"}},
		{"exhaustive", []string{"ok == true", "ok == false"}},
		{"exhaustive", []string{"ok and done", "not (ok and done)"}},
		{"open", []string{"ok and done", "not ok"}},
		{"2 never; exhaustive", []string{"ok and n > 2", "!(ok and n > 2)", "n > 2 and n < 2"}},
		{"exhaustive", []string{"ok ? n > 1 : n < 5", "ok ? n <= 1 : n >= 5"}},
		{"exhaustive", []string{"(opt ?? 'a') == 'a'", "opt != None and opt != 'a'"}},
		{"open", []string{"opt != None"}},
		{`open`, []string{"opt == 'a'"}},
		{"exhaustive", []string{"level > 3", "level <= 3"}},
		{"0 always; 1 by [0]; exhaustive", []string{"true", "n > 1"}},
		{"exhaustive", []string{"n < pos", "n >= pos"}},
		{"open", []string{"n < pos", "n > pos"}},
		{"exhaustive", []string{"cat == cat2", "cat2 == 'a' and cat != 'a'", "cat2 == 'b' and cat != 'b'"}},
		{"exhaustive", []string{"s < t", "t <= s"}},
		{"exhaustive", []string{"s < 'm'", "s >= 'm'"}},
		{"exhaustive", []string{"s endsWith 'x'", "not (s endsWith 'x')"}},
		{"exhaustive", []string{"len(list) > 0", "len(list) == 0"}},
		{"open", []string{"len(list) > 0"}},
		{"open", []string{"any(list, # == 1)"}},
		{"open", []string{"any(list, # == 1)", "all(list, # != 1)"}},
		{"exhaustive", []string{"pos % 2 == 0", "pos % 2 == 1"}},
		{"open", []string{"n % 2 == 0", "n % 2 == 1"}},
		{"exhaustive", []string{"out.ok == true", "out.ok != true"}},
		{"open", []string{"out.ok == true", "out.ok == false"}},
		{`open`, []string{"out.kind == 'a'", "out.kind == 'b'"}},
		{"0 always; exhaustive", []string{"n == n"}},
		{"0 always; exhaustive", []string{"1 < 2"}},
		{"0 never", []string{"1 > 2"}},
		{"open", []string{"s matches '.*'"}},
		{"open", []string{"n + 1 > n"}},
	} {
		if got := show(solveTexts(t, c.conds...)); got != c.want {
			t.Errorf("%q\n got %s\nwant %s", c.conds, got, c.want)
		}
	}
}
