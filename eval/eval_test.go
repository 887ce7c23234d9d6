package eval

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

func testScope() *Scope {
	return NewScope(map[string]Type{
		"ticket": String(), "category": String(), "confidence": Float(), "draft": String(), "verdict": String(), "n": Int(),
		"tags": List(String()), "items": List(Object(map[string]Type{"id": Int()}, false)), "meta": Object(nil, true), "flag": Bool(),
		"my-key": Int(), "visits": Object(map[string]Type{"write": Int(), "a-b": Int(), "first": Int()}, false),
		"nodes":  Object(map[string]Type{"write": Object(map[string]Type{"output": Any(), "visits": Int()}, false)}, false),
		"output": Object(map[string]Type{"score": Float()}, true), "input": Any(), "error": Any(), "item": Any(),
	}, ScopeOptions{
		Roots:  []string{"state"},
		Alias:  map[string][]string{"score": {"output", "score"}, "draft": {"output", "draft"}},
		Refuse: map[string]string{"secrets": "secrets are not readable in conditions"},
	})
}

func testEnv() map[string]any {
	return map[string]any{
		"ticket": "ünï", "category": "billing", "confidence": 0.9, "verdict": "REJECT: no", "n": 3, "flag": true, "my-key": 7,
		"tags": []any{"a", "b"}, "items": []any{map[string]any{"id": 2}, map[string]any{"id": 1}},
		"meta": map[string]any{"a": 1, "deep": map[string]any{"x": nil}}, "visits": map[string]any{"write": 2, "a-b": 1},
		"nodes": map[string]any{"write": map[string]any{"output": "text", "visits": 2}}, "output": map[string]any{"score": 0.5},
	}
}

func TestEval(t *testing.T) {
	env, scope := testEnv(), testScope()
	var v VM
	for _, c := range []struct{ src, want string }{
		{"confidence >= 0.8 and category in ['billing', 'technical']", "true"},
		{"verdict startsWith 'REJECT' and visits.write < 3", "true"},
		{"not (category in ['x'])", "true"},
		{"category not in ['x']", "true"},
		{"True and not False and None == null and nil == None", "true"},
		{"draft == None", "true"},
		{"draft ?? 'x'", `"x"`},
		{"draft != 'x'", "true"},
		{"draft == 'x'", "false"},
		{"draft startsWith 'x'", "false"},
		{"n == 3.0 and n != 4", "true"},
		{"state.n + state['my-key']", "10"},
		{`$env["my-key"]`, "7"},
		{"score", "0.5"},
		{"let score = 1; score", "1"},
		{"map([1, 2], let score = #; score)", "[1,2]"},
		{"visits['a-b']", "1"},
		{"visits.first", "null"},
		{"meta?.a", "1"},
		{"meta.deep.x", "null"},
		{"meta.zz?.x.y", "null"},
		{"meta.zz", "null"},
		{"get(meta, 'zz') ?? 2", "2"},
		{"items[0].id", "2"},
		{"items[-1].id", "1"},
		{"sortBy(items, .id)[0].id", "1"},
		{"sortBy(items, #.id, 'desc')[0].id", "2"},
		{"map(items, .id + #index)", "[2,2]"},
		{"count(items, .id > 1)", "1"},
		{"find(items, .id == 1).id", "1"},
		{"findIndex(items, .id == 1)", "1"},
		{"findLast(items, .id > 0).id", "1"},
		{"one(items, .id == 1) and none(items, .id == 5)", "true"},
		{"reduce(items, #acc + .id, 10)", "13"},
		{"items | map(.id) | sum()", "3"},
		{"sum(items, .id * 2)", "6"},
		{"groupBy(items, .id % 2)['1'][0].id", "1"},
		{"tags contains 'a' and 'b' in tags and 'in' in 'being'", "true"},
		{"len(ticket) + len(tags) + len(meta)", "7"},
		{"ticket[1:] + ticket[:1]", `"nïü"`},
		{"upper(ticket)", `"ÜNÏ"`},
		{"'é\n' + \"b\n\" + upper(ticket)", `"é\nb\nÜNÏ"`},
		{"ticket matches '^ü.ï$'", "true"},
		{"indexOf(ticket, 'ï')", "2"},
		{"1 < n < 5 and 1 <= n", "true"},
		{"n > 2 ? 'a' : 'b'", `"a"`},
		{"if n > 5 {'a'} else if n > 2 {'b'} else {'c'}", `"b"`},
		{"{'a': n, \"b\": [1, None]}", `{"a":3,"b":[1,null]}`},
		{"let x = n * 2; x ** 2 - x % 4", "34"},
		{"let x = 3; -x + +x", "0"},
		{"-n + +n - -1", "1"},
		{"round(2.5) + floor(2.7) + ceil(2.1) + abs(-1)", "9"},
		{"min(3, [1, 2]) + max(1, 2.5)", "3.5"},
		{"mean([1, 2]) + median([3, 1, 2])", "3.5"},
		{"int('42') + int(2.9) + float('1.5')", "45.5"},
		{"string(1.0) + string(None) + string([1])", `"1null[1]"`},
		{"type(n) + type(None) + type(confidence) + type(tags)", `"integernullnumberlist"`},
		{"toJSON(meta)", `"{\"a\":1,\"deep\":{\"x\":null}}"`},
		{"fromJSON('{\"a\": 1.0}') == {'a': 1}", "true"},
		{"fromBase64(toBase64('é'))", `"é"`},
		{"join(reverse(split('a,b', ',')), '-')", `"b-a"`},
		{"replace(trim(' aXa '), 'a', 'b')", `"bXb"`},
		{"concat([1], [2]) == flatten([1, [[2]]])", "true"},
		{"uniq([1, 1.0, '1', [1], [1]])", `[1,"1",[1]]`},
		{"sort([3, 1, 2.5])", "[1,2.5,3]"},
		{"first(tags) + last(tags) + string(first([]))", `"abnull"`},
		{"take(tags, 1)", `["a"]`},
		{"keys(meta)", `["a","deep"]`},
		{"nodes.write.output == 'text'", "true"},
		{"/* why */ n // because", "3"},
		{"[1.5] == [2.5] or [true] == [false] or [true] == [1] or [false] == [None]", "false"},
		{"[1.5] == [1.5] and [true] == [true] and [false] == [false] and [None] == [None]", "true"},
		{"[`a)]``b`, 'c'][1]", `"c"`},
		{"visits.write / 2 + n / (n) + [6][0] / 3 / 1", "4"},
		{"'x\\t\n' + `\n`", `"x\t\n\n"`},
	} {
		p, err := scope.Compile(c.src, Value)
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		out, rerr := v.Eval(p, env)
		if rerr != nil {
			t.Errorf("%s: %v", c.src, rerr)
			continue
		}
		if got := encodeJSON(out); got != c.want {
			t.Errorf("%s: got %s, want %s", c.src, got, c.want)
		}
	}
}

// splitMarks returns a source without its marks ‹ and ›, and the span between them.
func splitMarks(t *testing.T, s string) (src string, from, to int) {
	t.Helper()
	from = strings.Index(s, "‹")
	rest := strings.Replace(s, "‹", "", 1)
	to = strings.Index(rest, "›")
	if from < 0 || to < 0 {
		t.Fatalf("no marks in %q", s)
	}
	return strings.Replace(rest, "›", "", 1), from, to
}

func TestCompileErrors(t *testing.T) {
	scope := testScope()
	for _, c := range []struct{ src, rule, message, suggestion string }{
		{"‹›", RuleSyntax, "expression is empty", ""},
		{"n +‹›", RuleSyntax, "unexpected end of the expression", ""},
		{"‹(›n + 1", RuleSyntax, `"(" is not closed`, ""},
		{"‹/›", RuleSyntax, `unexpected "/"`, ""},
		{"n ‹=› 3", RuleSyntax, `"=" is not an operator here; write ==`, "=="},
		{"n == ‹'›x", RuleSyntax, "string is not closed", ""},
		{"s == ‹'›x\nand s != 'y'", RuleSyntax, "string is not closed", ""},
		{"n ?? ‹)›", RuleSyntax, `unexpected ")"`, ""},
		{"n‹?› == 3", RuleSyntax, `unexpected "?"; it marks a path as optional in {{ }} only; here write a?.b, or a ?? other`, ""},
		{"'é' == ticket and n ‹@› 3", RuleSyntax, `unexpected character "@"`, ""},
		{"n‹;› n", RuleSyntax, "", ""},
		{"map(tags, {'a'‹:› #})", RuleSyntax, `unexpected ":"; write ({...}) for an object inside a predicate`, ""},
		{"{'a': 1, ‹'a'›: 2}", RuleSyntax, `key "a" stands twice in one object`, ""},
		{"any(tags, any(tags, ‹any›(tags, true)))", RuleSyntax, "predicates are nested deeper than 2 levels", ""},
		{"ticket matches ‹'('›", RuleSyntax, "", ""},
		{"ticket matches ‹'a{1000}'›", RuleSyntax, "pattern is too large: 1002 instructions, at most 1000 are allowed", ""},
		{"‹9223372036854775807› > n", RuleSyntax, "integer 9223372036854775807 is beyond 2^61", ""},
		{"'ü' == ticket and ‹confidense› > 1", RuleName, "", "confidence"},
		{"state.‹tikket› == 'x'", RuleName, "", "ticket"},
		{"state['‹tikket›'] == 'x'", RuleName, "", "ticket"},
		{"visits.‹writ› > 1", RuleName, `unknown name "writ" in "visits"; known: a-b, first, write`, "write"},
		{"‹visits.a-b› > 1", RuleName, "", `visits["a-b"]`},
		{"‹my-key› > 1", RuleName, "", `state["my-key"]`},
		{"nodes.write.‹outptu›", RuleName, `unknown name "outptu" in "nodes.write"; known: output, visits`, "output"},
		{"items[0].‹idd› == 1", RuleName, "", "id"},
		{"any(items, .‹idd› == 1)", RuleName, "", "id"},
		{"‹secrets›.token == 'x'", RuleName, "secrets are not readable in conditions", ""},
		{"‹state›", RuleName, `"state" is only readable by a constant key, as in state.key`, ""},
		{"‹lenght›(tags) > 1", RuleName, `unknown function "lenght"`, "len"},
		{"‹uper›(ticket)", RuleName, `unknown function "uper"`, "upper"},
		{"‹now›() > 1", RuleName, "", ""},
		{"‹ticket.upper()›", RuleName, "values have no methods; write upper(ticket)", "upper(ticket)"},
		{"ticket.‹startsWith›('a')", RuleName, "values have no methods; write text startsWith 'x'", ""},
		{"‹startswith›(ticket, 'a')", RuleName, `unknown function "startswith"; write text startsWith 'x'`, ""},
		{"‹{{ n }}› > 1", RuleSyntax, "this is an expression already; write it without {{ }}", ""},
		{"n > 1 and ‹${n}› > 1", RuleSyntax, "this is an expression already; write it without ${ }", ""},
		{"‹ticket + n›", RuleType, "+ adds two numbers or two strings, these are a string and an integer; write string(x) to make a string", ""},
		{"flag and ‹(n + 1) * 2 == 'x'›", RuleType, "", ""},
		{"‹ticket› - 1", RuleType, "- needs numbers, this is a string", ""},
		{"‹ticket > n›", RuleType, "> compares two numbers or two strings, these are a string and an integer", ""},
		{"not ‹n›", RuleType, "expected a boolean, this is an integer", ""},
		{"flag and ‹ticket›", RuleType, "expected a boolean, this is a string", ""},
		{"‹n in tags›", RuleType, "", ""},
		{"n in ‹confidence›", RuleType, "", ""},
		{"any(‹ticket›, # > 1)", RuleType, "any needs a list, this is a string", ""},
		{"any(tags, ‹len(#)›)", RuleType, "expected a boolean, this is an integer", ""},
		{"upper(‹n›)", RuleType, "upper needs a string here, this is an integer", ""},
		{"‹upper(ticket, n)›", RuleType, "upper takes 1 argument, found 2", ""},
		{"ticket.‹x›", RuleType, `"ticket" has no member "x": it is a string`, ""},
		{"tags[‹'x'›]", RuleType, "elements of a list are read by an integer, this is a string", ""},
		{"‹n›[1:]", RuleType, "only lists and strings have slices, this is an integer", ""},
	} {
		src, from, to := splitMarks(t, c.src)
		_, err := scope.Compile(src, Value)
		switch {
		case err == nil:
			t.Errorf("%s: compiles", src)
		case err.Rule != c.rule || c.message != "" && err.Message != c.message || c.suggestion != "" && err.Suggestion != c.suggestion:
			t.Errorf("%s: got %+v", src, *err)
		case c.rule != RuleSyntax || c.message != "":
			if err.From != from || err.To != to {
				t.Errorf("%s: marked %q (%d to %d), want %d to %d: %s", src, src[err.From:err.To], err.From, err.To, from, to, err.Message)
			}
		}
	}
}

func TestConditionMustBeBoolean(t *testing.T) {
	for _, src := range []string{"n + 1", "'x'", "None", "tags", "meta", "(n)"} {
		if _, err := testScope().Compile(src, Condition); err == nil || err.Rule != RuleNotBoolean {
			t.Errorf("%s: got %v", src, err)
		}
	}
	p, err := testScope().Compile(" input.ok ", Condition)
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []any{nil, 1, "true", []any{}} {
		env := map[string]any{"input": map[string]any{"ok": value}}
		if out, err := new(VM).Test(p, env); err == nil {
			t.Errorf("%v counts as %v", value, out)
		}
	}
	if out, err := new(VM).Test(p, map[string]any{"input": map[string]any{"ok": true}}); err != nil || !out {
		t.Errorf("got %v, %v", out, err)
	}
}

func TestErrors(t *testing.T) {
	env := testEnv()
	env["input"] = map[string]any{"s": "x", "n": 1, "l": []any{1}}
	for _, c := range []struct{ src, message string }{
		{"flag and ‹input.count > 3›", `cannot use > on null and integer: "input.count" is null`},
		{"‹input.s + 1›", "cannot use + on string and integer"},
		{"1 + ‹n / (n - 3)›", "division by zero"},
		{"not ‹error›", `expected a boolean, found null: "error" is null`},
		{"‹items[5]›.id", "index 5 is out of range: the list has 2 elements"},
		{"‹error.kind› == 'x'", `null has no member "kind": "error" is null`},
		{"‹input.s.x› == 1", `string has no member "x"`},
		{"‹any(error, # > 1)›", `any needs a list, found null: "error" is null`},
		{"any(input.l, ‹# > 'x'›)", "cannot use > on integer and string"},
		{"‹input.n ? 1 : 2›", ""},
		{"‹-error›", `cannot use - on null: "error" is null`},
		{"‹upper(error)›", `upper needs a string, found null: "error" is null`},
		{"‹input.n % 0.5›", "% needs whole numbers, found 0.5"},
		{"flag and ‹input.n›", "expected a boolean, found integer"},
	} {
		src, from, to := splitMarks(t, c.src)
		p, err := testScope().Compile(src, Value)
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		out, rerr := new(VM).Eval(p, env)
		re, ok := rerr.(*Error)
		switch {
		case !ok:
			t.Errorf("%s: got %v", src, out)
		case c.message != "" && re.Message != c.message:
			t.Errorf("%s: got %q, want %q", src, re.Message, c.message)
		case c.message != "" && !(strings.Contains(c.message, "boolean") || re.From == from && re.To == to):
			t.Errorf("%s: marked %q", src, src[re.From:re.To])
		}
	}
}

func TestReads(t *testing.T) {
	for src, want := range map[string]string{
		"n + n":                          "[n]",
		"state.n":                        "[n]",
		"score":                          "[output.score]",
		"let o = output; o.score":        "[output.score]",
		"let n2 = n; n2 + n2":            "[n]",
		"let score = 1; score":           "[]",
		"visits.write < visits.first":    "[visits.first visits.write]",
		"nodes[ticket].output":           "[nodes.* ticket]",
		"items[n].id":                    "[items n]",
		"any(items, .id == n)":           "[items n]",
		"map(output.list, #.x)":          "[output.list]",
		"get(meta, 'a')":                 "[meta.a]",
		"get(meta, ticket)":              "[meta.* ticket]",
		"meta?.a.b ?? n":                 "[meta.a.b n]",
		"{'n': 1}.n":                     "[]",
		`$env["my-key"]`:                 "[my-key]",
		"(flag ? output : meta).x":       "[flag meta output]",
		"filter(1..3, let x = #; x > n)": "[n]",
	} {
		p, err := testScope().Compile(src, Value)
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		if got := fmt.Sprint(p.Reads); got != want {
			t.Errorf("%s: got %s, want %s", src, got, want)
		}
	}
}

func TestUses(t *testing.T) {
	scope := NewScope(map[string]Type{"a": Int(), "visits": Object(nil, true), "state": Object(map[string]Type{"a": Int()}, true)},
		ScopeOptions{Roots: []string{"state"}})
	for _, c := range []struct {
		src, name string
		uses      bool
	}{
		{"state.a", "a", true},
		{"state", "a", true},
		{"state[string(1)]", "a", true},
		{"visits.x", "visits", true},
		{"visits.x", "a", false},
		{"visits[string(a)]", "visits", true},
		{"len(visits)", "visits", true},
		{"1", "a", false},
	} {
		p, err := scope.Compile(c.src, Value)
		if err != nil {
			t.Fatal(c.src, err)
		}
		if p.Uses(c.name) != c.uses {
			t.Errorf("%s, %s: uses %v", c.src, c.name, p.Uses(c.name))
		}
	}
}

func TestConst(t *testing.T) {
	for src, want := range map[string]any{"1 < 2": true, "1 in [1, 2]": true, "let x = 2; x * 3": 6, "n == n": nil, "1 / 0": nil} {
		p, err := testScope().Compile(src, Value)
		if err != nil {
			t.Fatal(err)
		}
		if v, ok := p.Const(); ok != (want != nil) || v != want {
			t.Errorf("%s: got %v, %v", src, v, ok)
		}
	}
}

func TestOpenScope(t *testing.T) {
	scope := NewScope(map[string]Type{"n": Int()}, ScopeOptions{Open: true, Roots: []string{"state"}, Refuse: map[string]string{"secrets": "no"}})
	for src, want := range map[string]any{"x": nil, "x ?? 1": 1, "state.x == None": true, "n + 1": 2, "y.z": "yz"} {
		p, err := scope.Compile(src, Value)
		if err != nil {
			t.Fatal(err)
		}
		if v, err := new(VM).Eval(p, map[string]any{"n": 1, "y": map[string]any{"z": "yz"}}); err != nil || v != want {
			t.Errorf("%s: got %v, %v", src, v, err)
		}
	}
	for _, src := range []string{"secrets.x", "let y = 1; $env['y']"} { // the library would read the local y
		if _, err := scope.Compile(src, Value); err == nil || err.Rule != RuleName {
			t.Errorf("%s: got %v, want %s", src, err, RuleName)
		}
	}
}

func TestConcurrentCompileAndEval(t *testing.T) {
	scope, env := testScope(), testEnv()
	shared, err := scope.Compile("any(items, .id == visits.write) and ticket matches 'ü'", Condition)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			var v VM
			for range 50 {
				if ok, err := v.Test(shared, env); !ok || err != nil {
					t.Errorf("got %v, %v", ok, err)
				}
				if _, err := scope.Compile("upper(ticket) == 'X' and visits.write > 1", Condition); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// A search from the end must not leave a value on the stack that a later part could read.
func TestFindLastInsideOthers(t *testing.T) {
	env := map[string]any{"items": []any{4, 1, 7, 2}}
	for src, want := range map[string]string{
		"findLast(items, # > 2)":                                "7",
		"findLastIndex(items, # > 2)":                           "2",
		"findLastIndex(items, # > 9)":                           "",
		"findLast(items, #index < 2)":                           "1",
		"findLastIndex(items, #index < 2 and # > 0)":            "1",
		"map([1, 2], findLast(items, true))":                    "[2,2]",
		"[1, findLast(items, # > 5), 3]":                        "[1,7,3]",
		"{'a': 5, 'b': findLastIndex(items, # > 5)}":            `{"a":5,"b":2}`,
		"groupBy([1, 2], findLastIndex(items, # == 4))":         `{"0":[1,2]}`,
		"findLast(items, findLastIndex(items, # > 5) == # - 5)": "7",
	} {
		p, err := fuzzScope().Compile(src, Value)
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		if out, err := new(VM).Eval(p, env); err != nil || Text(out) != want {
			t.Errorf("%s: got %s, %v, want %s", src, Text(out), err, want)
		}
	}
}
