// A world whose outcomes are computed from hashes.

package referencetest

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"time"
)

// Chance is a world whose outcomes are computed from hashes. What steps yield depends on Seed and the
// step's name; how long they take depends on Timing too. Only Scope, Node, Visit, Element, Round and
// the attempt enter the hash, so that implementations that know only these can run in the same world.
type Chance struct {
	Seed, Timing    uint64
	Failing, Asking int // per cent
	// Absent is the percentage of questions that are never answered.
	Absent int
}

func (c *Chance) newRand(salt uint64, what ...any) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprint(h, what...)
	return rand.New(rand.NewPCG(c.Seed^salt*0x9e3779b97f4a7c15, h.Sum64()))
}

// Attempt implements World.
func (c *Chance) Attempt(s StepID, n int) (Outcome, time.Duration) {
	r := c.newRand(0, s.Scope, " ", s.Node, s.Visit, s.Element, s.Round, n)
	takes := time.Duration(1 + c.newRand(c.Timing+1, s.Scope, " ", s.Node, s.Visit, s.Element, s.Round, n, s.Rank).Int64N(5e9))
	out := Outcome{Output: []any{r.IntN(4), "yes", s.Node, nil}[r.IntN(4)]}
	if r.IntN(100) < c.Failing {
		return Outcome{Error: &Error{Kind: []string{"tool", "failed"}[r.IntN(2)], Message: "chance"}}, takes
	}
	if s.Round < 2 && r.IntN(100) < c.Asking {
		return Outcome{Asks: []string{"a", "b"}[:1+r.IntN(2)]}, takes
	}
	if strings.HasPrefix(s.Node, "g") {
		to := func() any { return []any{"x", "y", "z"}[r.IntN(3)] }
		out.Output = map[string]any{"goto": []any{to(), []any{to(), to()}}[r.IntN(2)]}
	}
	return out, takes
}

// Answer implements World.
func (c *Chance) Answer(s StepID, key string) (any, time.Duration, bool) {
	r := c.newRand(0, "answer", s.Scope, " ", s.Node, s.Visit, s.Element, s.Round, key)
	takes := 1 + c.newRand(c.Timing+1, "answer", s.Scope, " ", s.Node, s.Visit, s.Element, s.Round, key, s.Rank).Int64N(9e9)
	return "answer", time.Duration(takes), r.IntN(100) >= c.Absent
}

// Choose implements World.
func (c *Chance) Choose(s StepID, candidates []string) (string, bool) {
	r := c.newRand(0, "choose", s.Scope, " ", s.Node, s.Visit)
	return candidates[r.IntN(len(candidates))], r.IntN(100) >= c.Failing
}
