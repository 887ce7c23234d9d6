package input

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestYAML(t *testing.T) {
	for _, c := range []struct {
		src  string
		want any
		err  string
	}{
		{"a: 1\nb: [x, 2.5, true, null, 2020-01-02]\n", map[string]any{"a": 1, "b": []any{"x", 2.5, true, nil, "2020-01-02"}}, ""},
		{"a: 010\nb: 0x10\nc: yes\n", map[string]any{"a": 10, "b": 16, "c": "yes"}, ""},
		{"a: &x [1]\nb: *x\n", map[string]any{"a": []any{1}, "b": []any{1}}, ""},
		{"", nil, ""},
		{"1: a\n", map[string]any{"1": "a"}, ""},
		{"a: 1\na: 2\n", nil, "stands twice"},
		{"a: .nan\n", nil, "is not a number"},
		{"[a]: 1\n", nil, "a map key must be a scalar"},
		{"a: [\n", nil, "is not YAML"},
		{"a: &x [*x]\n", nil, "nested more than 100 levels deep"},
	} {
		got, err := ParseYAML([]byte(c.src))
		switch {
		case c.err == "" && err != nil:
			t.Errorf("%q: %v", c.src, err)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%q: error %v, want %q", c.src, err, c.err)
		case c.err == "":
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%q (-want +got)\n%s", c.src, diff)
			}
		}
	}
}
