package eval

import "testing"

// Messages name operators and functions of other languages and their replacements. The
// source compiles after the suggestion is applied.
func TestIdioms(t *testing.T) {
	scope := NewScope(map[string]Type{"text": String(), "n": Int(), "b": Bool(), "list": List(String())}, ScopeOptions{})
	tests := []struct{ src, mark, suggestion string }{
		{"text is not null", "is not null", "!= null"},
		{"text is None", "is None", "== null"},
		{"text is not 'x'", "is not", "!="},
		{"n is 3", "is", "=="},
		{"text =~ 'a = b'", "=~", "matches"},
		{"text = 'x'", "=", "=="},
		{"n === 3", "===", "=="},
		{"n <> 3", "<>", "!="},
		{"b & b", "&", "and"},
		{"text == 'AND' AND b", "AND", "and"},
		{"b OR b", "OR", "or"},
		{"NOT b", "NOT", "not"},
		{"text IN list", "IN", "in"},
		{"text.length > 1", "text.length", "len(text)"},
		{"len(list) + list.size > 1", "list.size", "len(list)"},
		{"text.upper() == 'X'", "text.upper()", "upper(text)"},
		{"text.replace('a', 'b') == 'X'", "text.replace('a', 'b')", "replace(text, 'a', 'b')"},
		{"text | upper", "text | upper", "upper(text)"},
		{"text | trim | length", "text | trim | length", "len(trim(text))"},
	}
	for _, test := range tests {
		_, err := scope.Compile(test.src, Value)
		if err == nil {
			t.Errorf("%s compiles", test.src)
			continue
		}
		if got := test.src[err.From:err.To]; got != test.mark || err.Suggestion != test.suggestion {
			t.Errorf("%s: found %q, suggested %q; want %q and %q: %s", test.src, got, err.Suggestion, test.mark, test.suggestion, err.Message)
			continue
		}
		fixed := test.src[:err.From] + err.Suggestion + test.src[err.To:]
		if _, err := scope.Compile(fixed, Value); err != nil {
			t.Errorf("%s: the suggestion makes it %q: %v", test.src, fixed, err)
		}
	}
}

// Other faults keep their own messages.
func TestNoIdiom(t *testing.T) {
	scope := NewScope(map[string]Type{"n": Int()}, ScopeOptions{})
	for _, src := range []string{"n >", "(n", "n n", "let x = 1; x +", "'is' + "} {
		_, err := scope.Compile(src, Value)
		if err == nil || err.Suggestion != "" {
			t.Errorf("%s: %v", src, err)
		}
	}
}
