package eval

import (
	"strings"
	"testing"
)

func TestRender(t *testing.T) {
	env := testEnv()
	env["input"] = map[string]any{"list": []any{1.5, true, nil}, "s": "x", "none": nil}
	var v VM
	for _, c := range []struct{ src, want string }{
		{"", `""`},
		{"plain { text } }}", `"plain { text } }}"`},
		{"{{ n }}", "3"},
		{" {{ n }}", `" 3"`},
		{"{{n}}{{flag}}", `"3true"`},
		{"{{ tags }}", `["a","b"]`},
		{"tags: {{ tags }}, {{ meta }}", `"tags: [\"a\",\"b\"], {\"a\":1,\"deep\":{\"x\":null}}"`},
		{"{{ confidence }} {{ n / 2 }} {{ n / 3 * 3 }}", `"0.9 1.5 3"`},
		{"{{ {\"a\": {\"b\": 1}}.a }}", `{"b":1}`},
		{"{{ {'a': {'b': 1}}}}", `{"a":{"b":1}}`},
		{"a {{ '}}' + \"}}\" }} b", `"a }}}} b"`},
		{"{{ `a}}b` + `c``}}d` }}", "\"a}}bc`}}d\""},
		{"{{ map(tags, { # + '!' }) }}", `["a!","b!"]`},
		{"{{ /* }} */ n }}", "3"},
		{"{{{ 'a': n }}}", `{"a":3}`},
		{"{{ input.s? }}", `"x"`},
		{"{{ input.feedback? }}", `""`},
		{"{{ input.s.x.y? }}", `""`},
		{"{{ input.none? }}", `""`},
		{"{{ error.kind? }}!", `"!"`},
		{"{{ input.list[0] ? }} {{ input.list[9]? }}.", `"1.5 ."`},
		{"{{ None }}", "null"},
		{"{{ draft ?? 'none' }}", `"none"`},
		{"ü {{ ticket }} ü", `"ü ünï ü"`},
		{"{{ state.n? }}", "3"},
		{"{{ score? }}", "0.5"},
		{"{{ visits['a-b']? }}", "1"},
	} {
		tpl, err := testScope().Template(c.src)
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		out, rerr := v.Render(tpl, env, false)
		if rerr != nil || encodeJSON(out) != c.want {
			t.Errorf("%s: got %s, %v, want %s", c.src, encodeJSON(out), rerr, c.want)
		}
	}
}

func TestRenderErrors(t *testing.T) {
	env := testEnv()
	for _, c := range []struct{ src, message string }{
		{"ü {{ ‹input.feedback› }}", `"input.feedback" is missing or null; write {{ input.feedback? }} if it may be`},
		{"{{ ‹error.kind› }}", `"error.kind" is missing or null; write {{ error.kind? }} if it may be`},
		{"{{ ‹draft› }}", `"draft" is missing or null; write {{ draft? }} if it may be`},
		{"{{ ‹tags[7]› }}", ""},
		{"x {{ ‹first([])› }}", `"first([])" is null; use ?? for a default`},
		{"é {{ 1 + ‹n / 0› }}", "division by zero"},
	} {
		src, from, to := splitMarks(t, c.src)
		tpl, err := testScope().Template(src)
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		out, rerr := new(VM).Render(tpl, env, false)
		re, ok := rerr.(*Error)
		if !ok || re.From != from || re.To != to || c.message != "" && re.Message != c.message {
			t.Errorf("%s: got %v, %+v", src, out, re)
		}
	}
}

func TestTemplateErrors(t *testing.T) {
	for _, c := range []struct{ src, rule, suggestion string }{
		{"ü {{ n }} ‹{{› n", RuleSyntax, ""},
		{"ü ‹{{› n }", RuleSyntax, ""},
		{"a {{ ‹'›it }}", RuleSyntax, ""},
		{"a {{ n ‹=› 3 }}", RuleSyntax, "=="},
		{"é ‹{{ }}›", RuleSyntax, ""},
		{"‹{{ ? }}›", RuleSyntax, ""},
		{"{{ n + 1‹?› }}", RuleSyntax, ""},
		{"é {{ n }}{{ ‹tikket› }}", RuleName, "ticket"},
		{"{{ visits.‹writ›? }}", RuleName, "write"},
		{"{{ 1 + ‹ticket› * 2 }}", RuleType, ""},
	} {
		src, from, to := splitMarks(t, c.src)
		_, errs := testScope().Template(src)
		if len(errs) != 1 {
			t.Errorf("%s: got errors %v", src, errs)
			continue
		}
		err := errs[0]
		if err.Rule != c.rule || err.From != from || err.To != to || err.Suggestion != c.suggestion {
			t.Errorf("%s: got %+v, want %d to %d", src, err, from, to)
		}
	}
}

func TestTemplateReportsAllErrors(t *testing.T) {
	const src = "{{ tikket }} {{ n }} {{ 1 + ticket }} {{ ("
	_, errs := testScope().Template(src)
	var marks []string
	for _, err := range errs {
		marks = append(marks, src[err.From:err.To])
	}
	if got := strings.Join(marks, ", "); got != "tikket, 1 + ticket, {{" {
		t.Errorf("got errors at %s", got)
	}
}

func TestTemplateFacts(t *testing.T) {
	const src = "{{ ticket }} and {{ input.feedback? }} and {{ visits.write }}"
	tpl, err := testScope().Template(src)
	if err != nil {
		t.Fatal(err)
	}
	if !tpl.Uses("input") || !tpl.Uses("ticket") || tpl.Uses("n") {
		t.Errorf("reads %v", tpl.Reads)
	}
	if tpl.Type().String() != "string" {
		t.Errorf("type %v", tpl.Type())
	}
	if one, _ := testScope().Template("{{ n }}"); one.Type().String() != "integer" {
		t.Errorf("type %v", one.Type())
	}
	parts := tpl.Parts
	if len(parts) != 5 || parts[1].Text != " and " || !parts[2].Optional || src[parts[2].From:parts[2].To] != "input.feedback" {
		t.Errorf("parts %+v", parts)
	}
	plain, err := testScope().Template("no { braces }")
	if err != nil || len(plain.Parts) != 1 || len(plain.Reads) != 0 {
		t.Errorf("got %v, %v", plain, err)
	}
}

func TestRenderIsBounded(t *testing.T) {
	tpl, err := testScope().Template(strings.Repeat("{{ input }}", 100))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := new(VM).Render(tpl, map[string]any{"input": strings.Repeat("x", 1<<20)}, false); err == nil {
		t.Error("100 MB of text are rendered")
	}
}
