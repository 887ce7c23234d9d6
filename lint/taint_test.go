package lint

import "testing"

// A pattern makes a text safe only if it is about all of it.
func TestNarrow(t *testing.T) {
	for pattern, want := range map[string]bool{
		`^[a-z]+$`: true, `^[A-Za-z0-9_.-]{1,20}$`: true, `^(a|b)$`: true, `^a$|^b$`: true, `\Av\d+\z`: true,
		`[a-z]+`: false, `^[a-z]+`: false, `[a-z]+$`: false, `^a|b$`: false, `^.*$`: false, `^[^;]+$`: false, `^\S+$`: false,
		`^[a-z;]+$`: false, `^\$\(x\)$`: false, `(`: false, `(?m)^[a-z]+$`: false, ``: false,
	} {
		if got := narrow(pattern); got != want {
			t.Errorf("%q: %v, want %v", pattern, got, want)
		}
	}
}
