package eval

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// fuzzScope and fuzzEnv hold enough data to reveal costly expressions.
func fuzzScope() *Scope {
	return NewScope(map[string]Type{
		"n": Int(), "f": Float(), "s": String(), "b": Bool(), "a": Any(), "items": List(Int()), "big": List(Any()),
		"m": Object(map[string]Type{"x": Int(), "y": Object(nil, true)}, true), "visits": Object(map[string]Type{"write": Int(), "a-b": Int()}, false),
		"output": Any(), "text": String(), "unset": String(),
	}, ScopeOptions{Roots: []string{"state"}, Alias: map[string][]string{"score": {"output", "score"}}})
}

func fuzzEnv() map[string]any {
	items := make([]any, 2000)
	big := make([]any, 2000)
	for i := range items {
		items[i] = i
		big[i] = map[string]any{"id": i, "name": strings.Repeat("x", i%7)}
	}
	return map[string]any{
		"n": 3, "f": 2.5, "s": "héllo", "b": true, "a": []any{1, "x", nil}, "items": items, "big": big,
		"m": map[string]any{"x": 1, "y": map[string]any{"z": 2}}, "visits": map[string]any{"write": 1, "a-b": 2},
		"output": map[string]any{"score": 0.5}, "text": strings.Repeat("ab c", 5000),
	}
}

func seeds() []string {
	return []string{
		"n + 1", "confidence >= 0.8", "s in ['a', 'b']", "not b and f > 1", "m.y.z ?? 3", "m?.q?.r", "score * 2",
		"state.n", "state['n']", `$env["n"]`, "visits.a-b", "let x = n; x * x", "any(items, # > 5)", "items | filter(# > 3) | map(# * 2) | sum()",
		"reduce(items, #acc + #, 0)", "reduce(1..100, #acc + #acc, s)", "sortBy(big, .id, 'desc')[0].name", "groupBy(items, # % 3)",
		"1 < n < 5", "0<(0<(0<1)<1)<1", "b ?: (b ?: b)", "n ? 1 : 2", "if b {1} else {2}", "{'a': 1, \"b\": [2, 3]}.b[0]", "s matches '^h.*o$'",
		"text matches '(a|b| |c)*(a|b| |c)*d'", "upper(text) + lower(text)", "split(text, '')", "text[1:-1]", "1..1000000", "2 ** 61", "-n % -2", "1/0",
		"0x10 + 0b1 + 1_000 + .5e3", "`raw`", "b'bytes'", "'\\u{1F600}'", "// c\nn", "/* c */ n", "True or False or None == null", "n not in items",
		"all(items, all(items, all(items, true)))", "any(items, # in items)", "uniq(big)", "toJSON(big)", "fromJSON('[1,2.0]')", "repeat(s, 100)",
		"let q = [1,1]; let r = [q,q]; let t = [r,r]; [t,t]", "((((n))))", "!!!!b", "- - -n", "a?.[0]", "a[-1]", "get(m, 'x')", "s.upper()", "now()",
		"n +", "(", ")", "'", "{{", "é + n", "n é", "\x00", "\xff", ";", "; ;", "let", "let x", "let x =", "map(", "map()", "map(items)", "reduce(items)", "#", ".x", "::len(s)", "a | b", "1 |", "x?.", "a[", "a[:", "not", "in", "?:", "1 ?? 2 + 3",
		"sum(items, # * n) / len(items)", "join(map(items, string(#)), ',')", "concat(items, big)", "flatten([[1,[2]],3])", "max(items, 3)", "median(items)",
	}
}

// evaluateInTime fails the test if all attempts of an evaluation are slow, because a
// busy machine may delay one of them. The limit is ten times as long as the slowest
// bounded evaluation on an idle machine, and much shorter than an unbounded one.
func evaluateInTime(t *testing.T, eval func()) {
	t.Helper()
	const limit = time.Second
	best := time.Hour
	for range 8 {
		start := time.Now()
		eval()
		if best = min(best, time.Since(start)); best <= limit*slowdown {
			return
		}
	}
	t.Fatalf("evaluation took %v", best)
}

func checkError(t *testing.T, src string, err *Error) {
	t.Helper()
	if err.From < 0 || err.To < err.From || err.To > len(src) {
		t.Fatalf("offsets %d to %d are outside of %d bytes", err.From, err.To, len(src))
	}
	if utf8.ValidString(src) && (!utf8.ValidString(src[:err.From]) || !utf8.ValidString(src[:err.To])) {
		t.Fatalf("offsets %d to %d cut a character of %q", err.From, err.To, src)
	}
	switch err.Rule {
	case RuleName, RuleNotBoolean, RuleSyntax, RuleType:
	default:
		t.Fatalf("rule %q", err.Rule)
	}
	if err.Message == "" || strings.ContainsAny(err.Message, "\n") {
		t.Fatalf("message %q", err.Message)
	}
}

func FuzzCompile(f *testing.F) {
	for _, s := range seeds() {
		f.Add(s)
	}
	scope, open := fuzzScope(), NewScope(nil, ScopeOptions{Open: true})
	env := fuzzEnv()
	f.Fuzz(func(t *testing.T, src string) {
		for _, sc := range []*Scope{scope, open} {
			var p *Program
			var err *Error
			evaluateInTime(t, func() { p, err = sc.Compile(src, Value) })
			if err != nil {
				checkError(t, src, err)
				continue
			}
			evaluateInTime(t, func() {
				out, err := new(VM).Eval(p, env)
				if err != nil {
					re := err.(*Error)
					if re.From < 0 || re.To < re.From || re.To > len(src) || re.Message == "" || re.Message == "expression failed on these values" {
						t.Fatalf("bad error %+v", re)
					}
					return
				}
				if again, err := new(VM).Eval(p, env); err != nil || !reflect.DeepEqual(out, again) {
					t.Fatalf("second evaluation differs: %v, %v", again, err)
				}
			})
		}
	})
}

func FuzzTemplate(f *testing.F) {
	for _, s := range seeds() {
		f.Add("{{ " + s + " }}")
		f.Add("a {{" + s + "? }} b")
	}
	for _, s := range []string{"plain", "{ single }", "{{", "}}", "{{}}", "{{ 'a}}' }}", `{{ {"a": {"b": 1}}.a }}`, "{{{n}}}", "é {{ q }}", "{{ n }}{{ s }}", "{{ m.q? }}", "{{ /* }} */ n }}", "{{ n // }}"} {
		f.Add(s)
	}
	scope, env := fuzzScope(), fuzzEnv()
	f.Fuzz(func(t *testing.T, src string) {
		tpl, errs := scope.Template(src)
		for _, err := range errs {
			checkError(t, src, err)
		}
		if errs != nil {
			return
		}
		isText := !strings.Contains(src, "{{")
		if isText != !slices.ContainsFunc(tpl.Parts, func(p Part) bool { return p.Program != nil }) {
			t.Fatal("braces and expressions differ")
		}
		for _, p := range tpl.Parts {
			if p.Program != nil && src[p.From:p.To] != p.Program.Source {
				t.Fatalf("part %q is not at %d to %d", p.Program.Source, p.From, p.To)
			}
		}
		evaluateInTime(t, func() {
			out, err := new(VM).Render(tpl, env, false)
			if err != nil {
				re := err.(*Error)
				if re.From < 0 || re.To < re.From || re.To > len(src) {
					t.Fatalf("bad error %+v", re)
				}
			}
			if isText && out != src {
				t.Fatalf("text %q rendered as %q", src, out)
			}
		})
	})
}
