package solve

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/graphrun/graphrun/eval"
)

// writer makes random conditions over the variables of domains.
type writer struct {
	*rand.Rand
	*world
}

func (w writer) pick(from ...string) string { return from[w.IntN(len(from))] }

func (w writer) condition(depth int) string {
	if depth > 0 {
		switch w.IntN(6) {
		case 0:
			return fmt.Sprintf("(%s and %s)", w.condition(depth-1), w.condition(depth-1))
		case 1:
			return fmt.Sprintf("(%s or %s)", w.condition(depth-1), w.condition(depth-1))
		case 2:
			return fmt.Sprintf("not (%s)", w.condition(depth-1))
		case 3:
			return fmt.Sprintf("(%s ? %s : %s)", w.condition(depth-1), w.condition(depth-1), w.condition(depth-1))
		}
	}
	return w.atom()
}

func (w writer) atom() string {
	order := w.pick("<", "<=", ">", ">=", "==", "!=")
	switch w.IntN(16) {
	case 14:
		return fmt.Sprintf("i %s %d %s %d", w.pick("+", "-"), w.IntN(4), order, w.IntN(6))
	case 15:
		return w.pick("1 + i - 2 < 1", "i - 1 == level", "3 < i + 1", "any(list, # == 'a')", "'b' in list", "len(list) > 2", "all(list, # == 'a')", "count(list, # == 'a') >= 2", "count(list, # == 'a') < 1", "len(list) == 0", "len(list) < 2", "none(list, # == 'b')", "not ('a' in list)")
	case 0, 1:
		return fmt.Sprintf("i %s %d", order, w.IntN(6)-1)
	case 2:
		return fmt.Sprintf("x %s %s", order, w.pick("0", "0.5", "1", "-2"))
	case 3:
		return w.pick("ok", "done", "ok == false", "ok != done", "ok == true")
	case 4, 5:
		return fmt.Sprintf("cat %s '%s'", w.pick("==", "!="), w.pick("a", "b", "c", "d"))
	case 6:
		return fmt.Sprintf("cat %s [%s]", w.pick("in", "not in"), w.pick("'a'", "'a', 'b'", "'a', 'b', 'c'", ""))
	case 7:
		return fmt.Sprintf("s %s '%s'", w.pick("==", "!=", "startsWith", "endsWith", "contains", "<", ">="), w.pick("a", "ab", "b", ""))
	case 8:
		return fmt.Sprintf("opt %s", w.pick("== None", "!= None", "== 'a'", "startsWith 'a'", "in ['a', None]", "< 'b'"))
	case 9:
		return fmt.Sprintf("(opt ?? '%s') %s '%s'", w.pick("a", "b"), w.pick("==", "!=", "startsWith"), w.pick("a", "b"))
	case 10:
		return fmt.Sprintf("out %s", w.pick("== 1", "== 'a'", "!= None", "> 0", "startsWith 'a'", "== true", "in [1, 'a']"))
	case 11:
		return w.pick("cat == cat2", "cat != cat2", "i < level", "i >= level", "s == t", "s < t", "t <= s", "i == i", "s < s")
	case 12:
		return w.pick("len(s) > 1", "len(s) == 0", "i % 2 == 0", "i % 2 == 1", "i + 1 > 3", "lower(s) == 'a'", "s matches '^a'")
	}
	return w.pick("true", "false", "1 < 2", "(ok ? i : 3) > 2", "(ok ? cat : 'a') == 'b'", "level > 1", "level == None", "(level ?? 0) > 1")
}

// actual returns the values that brute force tries for each variable.
func actual() map[string][]any {
	return map[string][]any{
		"i": {0, 1, 2, 3, 4}, "x": {-3, -2, -1.5, 0, 0.25, 0.5, 0.75, 1, 2.5}, "ok": {true, false}, "done": {true, false},
		"cat": {"a", "b", "c"}, "cat2": {"a", "b"}, "s": {"", "a", "ab", "abc", "b", "ba", "c", "A"}, "t": {"", "a", "b", "zz"},
		"opt": {nil, "", "a", "ab", "b"}, "level": {nil, -1, 0, 1, 2, 5}, "out": {nil, 0, 1, 2.5, "a", "ab", "z", true, false, []any{}},
		"list": {[]any{}, []any{"a"}, []any{"b", "a"}, []any{"a", "a"}, []any{"c"}, []any{"b", "b", "b"}},
	}
}

// each calls f with environments of the values of the given names: all of
// them if they are few, or else a random sample.
func each(r *rand.Rand, names []string, f func(env map[string]any)) {
	values := actual()
	total := 1
	for _, n := range names {
		total *= len(values[n])
	}
	const most = 300
	env := map[string]any{}
	for k := range min(total, most) {
		at := k
		for _, n := range names {
			v := values[n]
			if total > most {
				env[n] = v[r.IntN(len(v))]
				continue
			}
			env[n] = v[at%len(v)]
			at /= len(v)
		}
		f(env)
	}
}

// seen holds the outcomes of a decision by brute force.
type seen struct {
	yes, no, won, lost []bool
	hole               map[string]any
}

func brute(r *rand.Rand, conds []*eval.Program) seen {
	n := len(conds)
	out := seen{yes: make([]bool, n), no: make([]bool, n), won: make([]bool, n), lost: make([]bool, n)}
	have := map[string]bool{}
	var names []string
	for _, c := range conds {
		for _, read := range c.Reads {
			if !have[read.Path[0]] {
				have[read.Path[0]] = true
				names = append(names, read.Path[0])
			}
		}
	}
	var vm eval.VM
	each(r, names, func(env map[string]any) {
		decided := false
		for i, c := range conds {
			holds, err := vm.Test(c, env)
			switch {
			case err != nil:
				decided = true
			case holds && decided:
				out.yes[i], out.lost[i] = true, true
			case holds:
				out.yes[i], out.won[i], decided = true, true, true
			default:
				out.no[i] = true
			}
		}
		if !decided {
			out.hole = env
		}
	})
	return out
}

// TestSound compares claims about random decisions with the outcomes on actual values. None may
// contradict them.
func TestSound(t *testing.T) {
	rounds, seed := tries(600)
	r := rand.New(rand.NewPCG(1, seed))
	w := writer{r, newWorld()}
	var claims, decisions, abstained, exhaustive int
	var solver Solver // one for all, as in the checks of a graph
	for range rounds {
		texts := make([]string, 1+r.IntN(4))
		p := Problem{Domain: w.domain}
		var programs []*eval.Program
		for i := range texts {
			texts[i] = w.condition(r.IntN(3))
			c, err := w.scope.Compile(texts[i], eval.Condition)
			if err != nil {
				break // such as a comparison of types that are never equal
			}
			p.Conditions, programs = append(p.Conditions, c.Tree), append(programs, c)
		}
		if len(p.Conditions) < len(texts) {
			continue
		}
		decisions++
		got, want := solver.Solve(p), brute(r, programs)
		for i, v := range got.Verdicts {
			bad := v.Always && want.no[i] || v.Never && want.yes[i] || v.Shadowed && want.won[i]
			if bad {
				t.Fatalf("%q: condition %d: claimed %+v, seen true %v, false %v, first %v", texts, i, v, want.yes[i], want.no[i], want.won[i])
			}
			if v.Always || v.Never || v.Shadowed {
				claims++
			}
		}
		switch {
		case got.Exhaustive && want.hole != nil:
			t.Fatalf("%q: claimed to be exhaustive, but nothing holds with %v", texts, want.hole)
		case got.Exhaustive:
			exhaustive++
		default:
			abstained++
		}
	}
	t.Logf("%d decisions: %d exhaustive, %d not; %d claims about single conditions", decisions, exhaustive, abstained, claims)
	if exhaustive == 0 || claims < decisions/10 {
		t.Error("the solver decides too little")
	}
}

// TestComplete checks that the solver finds what brute force finds about decisions over listed
// values.
func TestComplete(t *testing.T) {
	rounds, seed := tries(800)
	r := rand.New(rand.NewPCG(3, seed))
	w := writer{r, newWorld()}
	atoms := func() string {
		switch w.IntN(3) {
		case 0:
			return fmt.Sprintf("i %s %d", w.pick("<", "<=", ">", ">=", "==", "!="), w.IntN(6)-1)
		case 1:
			return w.pick("ok", "done", "ok != done")
		}
		return fmt.Sprintf("cat %s '%s'", w.pick("==", "!="), w.pick("a", "b", "c", "d"))
	}
	var solver Solver
	for range rounds {
		p := Problem{Domain: w.domain}
		var texts []string
		var programs []*eval.Program
		for range 1 + r.IntN(4) {
			text := fmt.Sprintf("%s %s %s", atoms(), w.pick("and", "or"), atoms())
			c, err := w.scope.Compile(text, eval.Condition)
			if err != nil {
				t.Fatal(err)
			}
			p.Conditions, texts = append(p.Conditions, c.Tree), append(texts, text)
			programs = append(programs, c)
		}
		got, want := solver.Solve(p), brute(r, programs)
		if got.Exhaustive != (want.hole == nil) {
			t.Fatalf("%q: exhaustive %v; seen %v", texts, got.Exhaustive, want.hole)
		}
		for i, v := range got.Verdicts {
			if v.Always != !want.no[i] || v.Never != !want.yes[i] || v.Shadowed != (want.lost[i] && !want.won[i]) {
				t.Fatalf("%q: condition %d: claimed %+v, seen true %v, false %v, first %v, beaten %v",
					texts, i, v, want.yes[i], want.no[i], want.won[i], want.lost[i])
			}
		}
	}
}

// TestBig checks that the solver ends on decisions with too many combinations, and still proves
// what needs few of them.
func TestBig(t *testing.T) {
	var texts []string
	for i := range 3000 {
		texts = append(texts, fmt.Sprintf("s == 'k%d'", i))
	}
	texts = append(texts, "s == 'k7'", "n > 3 and s != 'k1' and x > 1 and pos > 1 and level > 2", "n > 3 and n < 2")
	got := solveTexts(t, texts...)
	if !got.Verdicts[3002].Never || got.Verdicts[3000].Shadowed || got.Exhaustive {
		t.Errorf("got %s", show(Result{Verdicts: got.Verdicts[3000:]}))
	}
}

func BenchmarkSolve(b *testing.B) {
	w := newWorld()
	p := Problem{Domain: w.domain}
	for _, text := range []string{"s startsWith 'REJECT' and n < 3", "s startsWith 'ACCEPT'", "n >= 3"} {
		c, err := w.scope.Compile(text, eval.Condition)
		if err != nil {
			b.Fatal(err)
		}
		p.Conditions = append(p.Conditions, c.Tree)
	}
	var solver Solver
	b.ReportAllocs()
	for b.Loop() {
		solver.Solve(p)
	}
}

// tries returns the number of random decisions of a test, and their seed. With
// GRAPHRUN_SOUND_ROUNDS=10 it makes ten times as many others.
func tries(n int) (rounds int, seed uint64) {
	if times, err := strconv.Atoi(os.Getenv("GRAPHRUN_SOUND_ROUNDS")); err == nil && times > 0 {
		return n * times, uint64(1000 + times)
	}
	return n, 2
}
