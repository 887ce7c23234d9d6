package settings

import "testing"

func TestMatchPath(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"flow.yaml", "flow.yaml", true},
		{"flow.yaml", "sub/flow.yaml", false},
		{"*.yaml", "flow.yaml", true},
		{"*.yaml", "sub/flow.yaml", false},
		{"sub", "sub/flow.yaml", true},
		{"sub/", "sub/deep/flow.yaml", true},
		{"sub/**", "sub/deep/flow.yaml", true},
		{"**/*.yaml", "flow.yaml", true},
		{"**/*.yaml", "a/b/flow.yaml", true},
		{"**/legacy", "a/legacy/b/flow.yaml", true},
		{"a/**/z.yaml", "a/z.yaml", true},
		{"a/**/z.yaml", "a/b/c/z.yaml", true},
		{"a/**/z.yaml", "b/z.yaml", false},
		{"su?/*", "sub/x.yaml", true},
		{"sub/deep/flow.yaml", "sub/deep", false},
		{"**", "anything/at/all", true},
		{"..", "../other.yaml", true},
	} {
		if got := matchPath(c.pattern, c.name); got != c.want {
			t.Errorf("%q on %q: %v", c.pattern, c.name, got)
		}
	}
}
