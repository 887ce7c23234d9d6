package eval

import "testing"

func benchScope() *Scope {
	return NewScope(map[string]Type{
		"attempts": Int(), "n": Int(), "any": Any(), "category": String(), "confidence": Float(),
		"verdict": String(), "visits": Object(map[string]Type{"write": Int()}, false),
		"output": Object(map[string]Type{"score": Float()}, true), "items": List(Int()),
	}, ScopeOptions{Roots: []string{"state"}})
}

func benchEnv() map[string]any {
	items := make([]any, 1000)
	for i := range items {
		items[i] = i
	}
	return map[string]any{
		"attempts": 2, "n": 41, "any": 3, "category": "billing", "confidence": 0.9, "verdict": "REJECT: x",
		"visits": map[string]any{"write": 1}, "output": map[string]any{"score": 0.5}, "items": items,
	}
}

func BenchmarkEval(b *testing.B) {
	for _, src := range []string{
		"attempts < 3",
		"n + 1",
		"verdict startsWith 'REJECT' and visits.write < 3",
		"confidence >= 0.8 and category in ['billing', 'technical']",
		"output.score > 0.3",
		"n * 2",
		"any == 3",
		"any + 1",
		"all(items, # >= 0)",
	} {
		b.Run(src, func(b *testing.B) {
			p, err := benchScope().Compile(src, Value)
			if err != nil {
				b.Fatal(err)
			}
			env := benchEnv()
			var v VM
			b.ReportAllocs()
			for b.Loop() {
				if _, err := v.Eval(p, env); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	s := benchScope()
	for _, src := range []string{
		"attempts < 3",
		"n + 1",
		"confidence >= 0.8 and category in ['billing', 'technical']",
		"any(items, # > 3 and n * 2 < 8) ? 'yes' : 'no'",
	} {
		b.Run(src, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Compile(src, Value); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRender(b *testing.B) {
	t, err := benchScope().Template("Classify {{ category }} with {{ confidence }}, visit {{ visits.write + 1 }}")
	if err != nil {
		b.Fatal(err)
	}
	env := benchEnv()
	var v VM
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.Render(t, env, false); err != nil {
			b.Fatal(err)
		}
	}
}
