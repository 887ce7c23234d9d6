package eval

import "testing"

// With overrides types of a scope without changing the scope.
func TestScopeWith(t *testing.T) {
	base := NewScope(map[string]Type{"n": Int(), "input": Any(), "state": Object(map[string]Type{"n": Int()}, false)},
		ScopeOptions{Roots: []string{"state"}, Alias: map[string][]string{"a": {"input", "a"}}})
	with := base.With(map[string]Type{"input": Object(map[string]Type{"b": String()}, false), "item": Int()},
		map[string][]string{"b": {"input", "b"}})
	for _, test := range []struct {
		text     string
		in, base string // the rule of the error; "" for none
	}{
		{"input.b", "", ""},
		{"input.c", RuleName, ""},
		{"b == 'x'", "", RuleName},
		{"b == 1", RuleType, RuleName},
		{"item + n", "", RuleName},
		{"state.n", "", ""},
		{"state.item", RuleName, RuleName},
		{"a", "", ""},
	} {
		for scope, want := range map[*Scope]string{with: test.in, base: test.base} {
			got := ""
			if _, err := scope.Compile(test.text, Value); err != nil {
				got = err.Rule
			}
			if got != want {
				t.Errorf("%s: rule %q, want %q (own scope: %v)", test.text, got, want, scope == base)
			}
		}
	}
}
