package eval

import (
	"encoding/json"
	"testing"
)

func TestExplain(t *testing.T) {
	names := map[string]Type{
		"n": Int(), "confidence": Float(), "category": String(), "ok": Bool(), "xs": List(Int()), "output": Any(), "nodes": Any(),
	}
	scope := NewScope(names, ScopeOptions{Roots: []string{"state"}, Alias: map[string][]string{"score": {"output", "score"}}})
	env := map[string]any{
		"n": 2, "confidence": 0.62, "category": "billing", "ok": false, "xs": []any{1, 5},
		"output": map[string]any{"score": 7}, "nodes": map[string]any{"a": map[string]any{"output": "x"}},
	}
	show := func(_ []any, v any) string {
		text, _ := json.Marshal(v)
		return string(text)
	}
	for _, c := range []struct{ src, want string }{
		{"confidence >= 0.8", "confidence >= 0.8 → 0.62 >= 0.8 → false"},
		{"ok", "ok → false"},
		{"true", "true → true"},
		{"score > 5", "score > 5 → 7 > 5 → true"},
		{"state.n + 1 == 3", "state.n + 1 == 3 → 2 + 1 == 3 → true"},
		{"nodes.a.output == 'x'", `nodes.a.output == 'x' → "x" == 'x' → true`},
		{
			"confidence >= 0.8 and category in ['billing', 'technical']",
			"confidence >= 0.8 and category in ['billing', 'technical'] → false: " +
				"confidence >= 0.8 → 0.62 >= 0.8 → false, category in ['billing', 'technical'] → not evaluated",
		},
		{
			"n > 1 && (ok || n < 3) && !ok",
			"n > 1 && (ok || n < 3) && !ok → true: n > 1 → 2 > 1 → true, " +
				"(ok || n < 3 → true: ok → false, n < 3 → 2 < 3 → true), (!ok → true: ok → false)",
		},
		{"(n > 1) or ok", "(n > 1) or ok → true: n > 1 → 2 > 1 → true, ok → not evaluated"},
		{"not (n > 1)", "not (n > 1) → false: n > 1 → 2 > 1 → true"},
		{"n not in [1, 3] and ok", "n not in [1, 3] and ok → false: n not in [1, 3] → 2 not in [1, 3] → true, ok → false"},
		{"any(xs, # > n) and n == 2", "any(xs, # > n) and n == 2 → true: any(xs, # > n) → any([1,5], # > 2) → true, n == 2 → 2 == 2 → true"},
		{"1 < n < 5", "1 < n < 5 → true: 1 < n → 1 < 2 → true, n < 5 → 2 < 5 → true"},
		{"let k = n + 1; k > 2 and ok", "let k = n + 1; k > 2 and ok → let k = 2 + 1; k > 2 and false → false"},
		{"n > 1 ? ok : true", "n > 1 ? ok : true → 2 > 1 ? false : true → false"},
		{"output.none > 3", "output.none > 3 → null > 3 → null"},
		{"  ( ok )  ", "ok → false"},
	} {
		p, err := scope.Compile(c.src, Condition)
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		for range 2 { // the second call uses the cached outline
			part := new(VM).Explain(p, env, show)
			if got := part.String(); got != c.want {
				t.Errorf("%s is explained as\n%s\nwant\n%s", c.src, got, c.want)
			}
			if result, err := new(VM).Test(p, env); err == nil && part.Result != result {
				t.Errorf("%s is %t, explained as %v", c.src, result, part.Result)
			}
		}
	}
}
