package suggest

import (
	"fmt"
	"strings"
	"testing"
)

func TestClosest(t *testing.T) {
	names := []string{"timeout", "retry", "reads", "writes", "when", "max_visits", "on_max_visits", "END", "a", "b"}
	for word, want := range map[string]string{
		"timout": "timeout", "tiemout": "timeout", "Timeout": "timeout", "retyr": "retry", "read": "reads", "wen": "when", "whne": "when", "maxvisits": "max_visits",
		"max-visits": "max_visits", "end": "END", "quux": "", "x": "", "": "", "A": "a", "timeout": "", "red": "", "to": "",
	} {
		if got := Closest(word, names); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

func TestClosestPrefersTheFirst(t *testing.T) {
	if got := Closest("nod3", []string{"nodx", "node", "nody"}); got != "nodx" {
		t.Errorf("got %q", got)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b  string
		limit int
		want  int
	}{
		{"", "", 5, 0},
		{"", "abc", 5, 3},
		{"abc", "", 2, 2},
		{"abc", "abc", 5, 0},
		{"abc", "acb", 5, 1},
		{"kitten", "sitting", 9, 3},
		{"kitten", "sitting", 2, 2},
		{"ca", "abc", 9, 3},
		{"abcdef", "abcde", 9, 1},
	} {
		if got := Distance(c.a, c.b, c.limit); got != c.want {
			t.Errorf("%q %q: %d, want %d", c.a, c.b, got, c.want)
		}
		if there, back := Distance(c.a, c.b, c.limit), Distance(c.b, c.a, c.limit); there != back {
			t.Errorf("%q %q: %d one way, %d the other", c.a, c.b, there, back)
		}
	}
}

func TestBudget(t *testing.T) {
	names := make([]string, 1000)
	for i := range names {
		names[i] = fmt.Sprintf("name%d", i)
	}
	f := New(names)
	f.budget = 2500
	got := []string{f.Closest("name999x"), f.Closest("name998x"), f.Closest("name997x"), f.Closest("name1x")}
	if want := "name999 name998 name97 "; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", strings.Join(got, " "), want)
	}
}
