package eval

import (
	"strconv"
	"testing"
)

// Each text is found in its own scope only, however many there are.
func TestProgramTable(t *testing.T) {
	scopes := []*Scope{NewScope(nil, ScopeOptions{}), NewScope(nil, ScopeOptions{})}
	var table programTable
	var all []*Program
	for i := range 1000 {
		for _, s := range scopes {
			for _, want := range []Want{Value, Condition} {
				p := &Program{scope: s, src: strconv.Itoa(i), want: want}
				found, hash := table.find(s, p.src, want)
				if found != nil {
					t.Fatalf("%s is there before it is added", p.src)
				}
				p.hash = hash
				table.add(p)
				all = append(all, p)
			}
		}
	}
	for _, p := range all {
		if found, _ := table.find(p.scope, p.src, p.want); found != p {
			t.Fatalf("%s is not found", p.src)
		}
	}
}
