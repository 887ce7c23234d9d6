package eval

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/parser"
)

// The tests of this file reproduce weaknesses of the library and show that this
// package closes them.

func TestHole1NestingIsRefusedBeforeParsing(t *testing.T) {
	// With the library alone, a million brackets overflow the goroutine's stack, which
	// ends the process. So the test shows only that the library does not limit depth.
	deep := strings.Repeat("(", 2000) + "1" + strings.Repeat(")", 2000)
	if _, err := parser.Parse(deep); err != nil {
		t.Fatalf("the library refuses depth by now: %v", err)
	}
	for name, src := range map[string]string{
		"brackets":    strings.Repeat("(", 65) + "1" + strings.Repeat(")", 65),
		"lists":       strings.Repeat("[", 65) + strings.Repeat("]", 65),
		"a million":   strings.Repeat("(", 1_000_000),
		"prefix":      strings.Repeat("!", 1_000_000) + "b",
		"short run":   strings.Repeat("!", 100) + "b",
		"not":         strings.Repeat("not ", 100) + "b",
		"minus":       strings.Repeat("- ", 100) + "n",
		"ternary":     strings.Repeat("b ? 1 : ", 100) + "2",
		"power":       strings.Repeat("2 ** ", 100) + "2",
		"let":         strings.Repeat("let x = 1; ", 100) + "2",
		"else":        strings.Repeat("if b {1} else ", 100) + "{2}",
		"too long":    strings.Repeat(" ", 4097) + "1",
		"many parts":  strings.Repeat("1 + ", 400) + "1",
		"comparisons": strings.Repeat("0<((", 25) + "b" + strings.Repeat(")?1:2)<3", 25),
		"elvis":       strings.Repeat("(", 40) + "b" + strings.Repeat(" ?: b)", 40),
	} {
		_, err := fuzzScope().Compile(src, Value)
		if err == nil || err.Rule != RuleSyntax {
			t.Errorf("%s: got %v, want an %s error", name, err, RuleSyntax)
		}
	}
	for name, src := range map[string]string{
		"64 brackets": strings.Repeat("(", 64) + "1" + strings.Repeat(")", 64),
		"a chain":     strings.Repeat("b and ", 200) + "b",
		"a sum":       strings.Repeat("n + ", 200) + "n",
		"a path":      "output" + strings.Repeat(".x", 100),
		"in a string": "'" + strings.Repeat("(", 1000) + "' == s",
		"4 KiB":       strings.Repeat(" ", 4095) + "1",
	} {
		if _, err := fuzzScope().Compile(src, Value); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// growingExpressions returns expressions with huge results or intermediate values.
func growingExpressions() map[string]string {
	chain := "let a0 = 'xxxxxxxxxxxxxxxx'; "
	dag := "let a0 = [1, 1]; "
	for i := 1; i < 40; i++ {
		chain += fmt.Sprintf("let a%d = a%d + a%d; ", i, i-1, i-1)
		dag += fmt.Sprintf("let a%d = [a%d, a%d]; ", i, i-1, i-1)
	}
	return map[string]string{
		"reduce":        "reduce(1..60, #acc + #acc, 'xxxxxxxx')",
		"let":           chain + "len(a39)",
		"dag":           dag + "a39",
		"dag to JSON":   dag + "toJSON(a39)",
		"dag compared":  dag + "a39 == map(a39, #)",
		"dag flattened": dag + "flatten(a39)",
		"dag unique":    dag + "uniq([a39, a38, a39])",
		"dag searched":  dag + "a38 in a39",
		"repeat":        "repeat('xxxxxxxx', 100000000)",
		"repeat often":  "map(1..1000, repeat('x', 100000))",
		"concat":        "reduce(1..60, concat(#acc, #acc), [1])",
		"split":         "map(1..1000, split(text, ''))",
		"replace":       "reduce(1..60, replace(#acc, 'x', 'xx'), 'x')",
		"range":         "len(1..1000000000)",
		"ranges":        "map(1..100000, 1..100000)",
		"join":          "reduce(1..60, join([#acc, #acc], ''), 'x')",
		"upper":         "map(1..100000, upper(text))",
		"urlencode":     "map(1..100000, urlencode(text))",
		"shared text":   "map(1..100000, text)",
		"lists":         "map(1..100000, items)",
		"nest":          "reduce(1..100000, [#acc], 0)",
		"base64":        "reduce(1..200, toBase64(#acc), 'x')",
		"objects":       "map(1..1000000, ({'a': #}))",
		"slices":        "map(1..100000, text[1:-1])",
	}
}

func TestHole2ValuesCannotExplode(t *testing.T) {
	program, err := expr.Compile("reduce(1..20, #acc + #acc, 'xxxxxxxx')")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := expr.Run(program, nil); err != nil || len(out.(string)) != 8<<20 {
		t.Fatalf("the library bounds text by now: %v", err)
	}
	scope, env := fuzzScope(), fuzzEnv()
	for name, src := range growingExpressions() {
		t.Run(name, func(t *testing.T) {
			p, err := scope.Compile(src, Value)
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			tries := 0
			evaluateInTime(t, func() {
				tries++
				if _, err := new(VM).Eval(p, env); err == nil {
					t.Error("no error")
				}
			})
			runtime.ReadMemStats(&after)
			if mb := int(after.TotalAlloc-before.TotalAlloc) / tries >> 20; mb > 100 {
				t.Errorf("allocated %d MB in all", mb)
			}
		})
	}
}

func TestHole3LoopsAreBounded(t *testing.T) {
	list := "[" + strings.TrimSuffix(strings.Repeat("1,", 40), ",") + "]"
	program, err := expr.Compile(fmt.Sprintf("all(%[1]s, all(%[1]s, all(%[1]s, true)))", list))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := expr.Run(program, nil); err != nil {
		t.Fatalf("the library bounds loops by now: %v", err)
	}
	if _, err := fuzzScope().Compile("all(items, all(items, all(items, true)))", Value); err == nil {
		t.Error("three nested predicates compile")
	}
	huge := make([]any, 100_000)
	for i := range huge {
		huge[i] = i
	}
	env := fuzzEnv()
	env["items"], env["big"] = huge, huge
	env["text"] = strings.Repeat("ab c", 2_000_000)
	env["s"] = strings.Repeat("ab c", 1_999_999) + "ab d"
	for src, ok := range map[string]bool{
		"all(items, # >= 0)":                                  true,
		"len(filter(items, # > 3 and # < 90000)) > 0":         true,
		"any(items, # == 99999)":                              true,
		"all(items, all(items, # >= 0))":                      false,
		"all(items, # in big)":                                false,
		"all(items, big contains #)":                          false,
		"all(items, len(text) > 0)":                           false,
		"all(items, text != s)":                               false,
		"all(items, text <= s)":                               false,
		"all(items, items == big)":                            false,
		"all(items, not (text contains 'x'))":                 false,
		"all(items, not (text startsWith s))":                 false,
		"all(items, len(sort(big)) > 0)":                      false,
		"all(items, len(keys(m)) > 0)":                        true,
		"all(items, indexOf(text, 'x') < 0)":                  false,
		"not (text matches '(a|b|c| )*x')":                    false,
		"text matches '((a{0,30}b{0,30}){0,30}c)+'":           false,
		"all(items, s matches text[:#])":                      false,
		"all(items, m[text] == None)":                         false,
		"all(items, m?.[text] == None)":                       false,
		"all(items, get(m, text) == None)":                    false,
		"all(items, not (text in m))":                         false,
		"len(groupBy(items, text)) > 0":                       false,
		"all(items, len({(text): #}) > 0)":                    false,
		"all(items, sum(items) > 0)":                          false,
		"all(items, mean(items) > 0)":                         false,
		"all(items, len(uniq(items)) > 0)":                    false,
		"trim(repeat('é', 99999), repeat('ü', 99999)) == 'é'": false,
	} {
		p, err := fuzzScope().Compile(src, Condition)
		if err != nil {
			if ok || err.Rule != RuleSyntax {
				t.Errorf("%s: %v", src, err)
			}
			continue
		}
		t.Run(src, func(t *testing.T) {
			evaluateInTime(t, func() {
				if out, err := new(VM).Test(p, env); (err == nil) != ok {
					t.Errorf("got %v, %v; want an error: %v", out, err, !ok)
				}
			})
		})
	}
}

func TestHole4FunctionsAreDeterministic(t *testing.T) {
	for _, src := range []string{"now()", "date('2024-01-01')", "duration('1h')", "timezone('UTC')", "bitshl(1, 70)"} {
		if _, err := expr.Compile(src); err != nil {
			t.Errorf("%s: the library lacks it by now: %v", src, err)
		}
		if _, err := fuzzScope().Compile(src, Value); err == nil || err.Rule != RuleName {
			t.Errorf("%s: got %v, want an %s error", src, err, RuleName)
		}
	}
	object, want := map[string]any{}, "["
	for i := range 50 {
		object[fmt.Sprintf("k%02d", i)] = i
	}
	for i := range 50 {
		want += fmt.Sprintf("[\"k%02d\",%d],", i, i)
	}
	want = strings.TrimSuffix(want, ",") + "]"
	for src, want := range map[string]string{
		"toPairs(m)":                      want,
		"toPairs(fromPairs(toPairs(m)))":  want,
		"keys(m)[0] + keys(m)[49]":        "k00k49",
		"values(m)[:3]":                   "[0,1,2]",
		"keys(groupBy(values(m), # % 3))": `["0","1","2"]`,
	} {
		p, err := fuzzScope().Compile(src, Value)
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			if out, err := new(VM).Eval(p, map[string]any{"m": object}); err != nil || Text(out) != want {
				t.Fatalf("%s: got %v, %v, want %s", src, Text(out), err, want)
			}
		}
	}
}

func TestHole5AllowListHoldsForEveryForm(t *testing.T) {
	if _, err := expr.Compile("filter(1..3, # > 1)", expr.DisableAllBuiltins()); err != nil {
		t.Fatalf("the library disables predicates by now: %v", err)
	}
	for src, rule := range map[string]string{
		"bitand(1, 2)":         RuleName,
		"n | bitand(2)":        RuleName,
		"::bitand(1, 2)":       RuleName,
		"splitAfter(s, 'x')":   RuleName,
		"system('x')":          RuleName,
		"s.ToUpper()":          RuleName,
		"m.x()":                RuleName,
		"m['x']()":             RuleSyntax,
		"b'bytes'":             RuleSyntax,
		"n; s":                 RuleSyntax,
		"$env":                 RuleName,
		"$env[s]":              RuleName,
		"$env.nothing":         RuleName,
		"let n = 1; n":         RuleSyntax,
		"let state = 1; state": RuleSyntax,
		"map(items, #acc)":     RuleName,
		"map(items, #foo)":     RuleName,
		"count":                RuleName,
	} {
		if _, err := fuzzScope().Compile(src, Value); err == nil || err.Rule != rule {
			t.Errorf("%s: got %v, want %s", src, err, rule)
		}
	}
	for _, name := range Functions() {
		_, isPredicate := predicates[name]
		if _, isFunction := functions[name]; isPredicate == isFunction {
			t.Errorf("function %q is listed and not there, or twice", name)
		}
	}
}

func TestHole6NumbersKeepTheirMeaning(t *testing.T) {
	env := map[string]any{"m": map[string]any{"a": 1.0}, "f": 3.0, "n": 1, "items": []any{1.0, 2}}
	for _, src := range []string{"m.a % 2", "m == {'a': 1}"} {
		p, err := expr.Compile(src, expr.Env(env))
		if err != nil {
			t.Fatal(err)
		}
		if out, err := expr.Run(p, env); err == nil && out != false {
			t.Errorf("%s: the library yields %v by now", src, out)
		}
	}
	for src, want := range map[string]any{
		"m.x % 2": nil, "m.a % 2": 1, "f % 2": 1, "1..f": []any{1, 2, 3}, "m == {'a': 1}": true, "m != {'a': 1}": false,
		"items == [1, 2]": true, "items == [1, 2.5]": false, "1.0 in items": true, "1 in items": true, "items[f - 3]": 1,
		"f == 3": true, "n == 1.0": true, "6 / 2": 3, "7 / 2": 3.5, "2 ** 3": 8, "-7 % 3": -1, "f": 3,
	} {
		p, err := fuzzScope().Compile(src, Value)
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		out, rerr := new(VM).Eval(p, env)
		if want == nil {
			if rerr == nil {
				t.Errorf("%s: got %v, want an error", src, out)
			}
			continue
		}
		if rerr != nil || fmt.Sprintf("%#v", out) != fmt.Sprintf("%#v", want) {
			t.Errorf("%s: got %#v, %v, want %#v", src, out, rerr, want)
		}
	}
}

func TestHole6OverflowAndNonFiniteAreErrors(t *testing.T) {
	env := map[string]any{"n": 1 << 61, "f": 1e308, "items": []any{1 << 61, 1 << 61, 1 << 61, 1 << 61, 1 << 61}}
	for _, src := range []string{
		"1 / 0", "1 / 0.0", "0 / 0", "1 % 0", "n + n", "n * 2", "n * n", "-n - n", "n + n + n + n + n + n", "n ** 2", "2 ** 62", "0 ** -1",
		"(0 - 8) ** 0.5", "f * 10", "f + f", "f / 0.0001 > 0", "sum(items)", "reduce(items, #acc + #, 0)", "sum(items, # * 3)",
		"let x = n + n; x + x + x", "map(items, # + #)", "[n + n]", "{'a': n + n}", "int(f)", "5 % 0 == 1 or true", "1 / 0 > 5",
		"map(items, [# + #])[0][0] + map(items, [# + #])[0][0]", "reduce(items, #acc * 3, 1 + n) < 0", "int('99999999999999999999')",
		"sort(items)[0] * 8 < 0", "reverse(items)[0] * 8 < 0", "first(items) * 8 < 0",
	} {
		p, err := fuzzScope().Compile(src, Value)
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		if out, err := new(VM).Eval(p, env); err == nil {
			t.Errorf("%s: got %#v, want an error", src, out)
		}
	}
	for src, want := range map[string]any{
		"n": 1 << 61, "n - n": 0, "n + n - n": 1 << 61, "n * 1": 1 << 61, "-n": -1 << 61, "n - 1 + 1": 1 << 61, "2 ** 61": 1 << 61, "(0 - 2) ** 61": -1 << 61,
	} {
		p, err := fuzzScope().Compile(src, Value)
		if err != nil {
			t.Fatal(err)
		}
		if out, err := new(VM).Eval(p, env); err != nil || out != want {
			t.Errorf("%s: got %#v, %v, want %#v", src, out, err, want)
		}
	}
}

func TestHole7ParserIsNotReused(t *testing.T) {
	var reused parser.Parser
	_, _ = reused.Parse("'x", nil)
	if _, err := reused.Parse("1", nil); err == nil {
		t.Fatal("the library's parser can be reused by now")
	}
	scope := fuzzScope()
	for range 3 {
		_, _ = scope.Compile("'x", Value)
		if _, err := scope.Compile("n + 1", Value); err != nil {
			t.Fatal(err)
		}
	}
}
