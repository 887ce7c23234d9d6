package cli

import "testing"

func TestColorOn(t *testing.T) {
	for _, c := range []struct {
		flag, noColor, term string
		terminal, want      bool
	}{
		{"auto", "", "xterm", true, true},
		{"auto", "", "xterm", false, false},
		{"auto", "1", "xterm", true, false},
		{"auto", "", "dumb", true, false},
		{"always", "1", "dumb", false, true},
		{"never", "", "xterm", true, false},
	} {
		t.Setenv("NO_COLOR", c.noColor)
		t.Setenv("TERM", c.term)
		a := &app{color: newEnum(c.flag, "always", "auto", "never")}
		if got := a.usesColor(c.terminal); got != c.want {
			t.Errorf("%+v: got %v", c, got)
		}
	}
}
