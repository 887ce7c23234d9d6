package eval

import (
	"fmt"
	"testing"
)

// TestTreeKeys checks that trees resolve names as the compiler does, and that only equal
// parts have equal keys.
func TestTreeKeys(t *testing.T) {
	names := map[string]Type{
		"n": Int(), "s": String(), "xs": List(Int()), "output": Any(),
		"visits": Object(map[string]Type{"a-b": Int()}, false),
	}
	scope := NewScope(names, ScopeOptions{Roots: []string{"state"}, Alias: map[string][]string{"score": {"output", "score"}}})
	for _, c := range []struct{ src, want string }{
		{"n", "$n"},
		{"state.n", "$n"},
		{`$env["n"] < 3`, "<($n,3)"},
		{"score == -1.5", `==($output."score",-1.5)`},
		{`visits["a-b"]`, `$visits."a-b"`},
		{"xs[0] + 1", `+($xs."[0]",1)`},
		{"output?.a.b", `$output."a"."b"`},
		{"True && !False", "and(true,not(false))"},
		{"n not in [1, 2]", "not(in($n,[](1,2)))"},
		{"(s ?? 'x') startsWith 'a'", `startsWith(??($s,"x"),"a")`},
		{"n > 1 ? n : None", "?:(>($n,1),$n,null)"},
		{"let k = n + 1; k * k", "*(+($n,1),+($n,1))"},
		{"let n2 = n; let m = n2; m", "$n"},
		{"len(xs)", "len($xs)"},
		{"any(xs, # > 1)", "?any(xs, # > 1)"},
		{"xs[n]", "?xs[n]"},
		{"let k = 2; any(xs, # > k)", "?let k = 2; any(xs, # > k)"},
	} {
		p, err := scope.Compile(c.src, Value)
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		if got := p.Tree.Key(); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.src, got, c.want)
		}
	}
}

// TestTreeIsBounded checks that a tree stays small if each let name doubles the previous one.
func TestTreeIsBounded(t *testing.T) {
	scope := NewScope(map[string]Type{"n": Int()}, ScopeOptions{})
	src := ""
	for last := 'a'; last < 'z'; last++ {
		src += fmt.Sprintf("let %[1]cc = %[2]cc + %[2]cc; ", last+1, last)
	}
	src = "let ac = n; " + src + "zc > 1"
	p, err := scope.Compile(src, Condition)
	if err != nil {
		t.Fatal(err)
	}
	if tree := p.Tree; tree.Op != TreeOther {
		t.Errorf("got a tree of %q, want the whole as one part", tree.Key()[:40])
	}
}
