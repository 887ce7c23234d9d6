package eval

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/expr-lang/expr/ast"
)

// nodesOf lists the nodes of a tree, each as often as it is used.
type nodesOf []ast.Node

func (v *nodesOf) Visit(n *ast.Node) { *v = append(*v, *n) }

// samePlain fails when the plain parser yields another tree than the library's,
// and tells whether it yields one.
func samePlain(t *testing.T, p *plainParser, src string) bool {
	t.Helper()
	var text source
	if text.scan(src) != nil {
		return false
	}
	plain := p.parse(src)
	if plain == nil {
		return false
	}
	full, err := parse(&text, newConfig())
	if err != nil {
		t.Fatalf("%q is an error: %v", src, err)
	}
	if !reflect.DeepEqual(full, plain) {
		t.Fatalf("%q is\n%s\nand to the plain parser\n%s", src, ast.Dump(full), ast.Dump(plain))
	}
	var of, with nodesOf
	ast.Walk(&full, &of)
	ast.Walk(&plain, &with)
	match := map[ast.Node]ast.Node{}
	repeated := false
	for i := range of {
		if other, seen := match[of[i]]; seen && other != with[i] {
			t.Fatalf("%q: %s is not shared", src, of[i])
		}
		_, seen := match[of[i]]
		repeated = repeated || seen
		match[of[i]] = with[i]
	}
	if repeated && !text.repeats {
		t.Fatalf("%q repeats a part, which the scan did not foresee", src)
	}
	return true
}

// What files are full of takes the quick way.
func TestPlainParser(t *testing.T) {
	var p plainParser
	for _, src := range []string{
		"n", "n + 1", "text", "state.n", "visits.write < 3", "n < 5 and mood in ['a', 'b']", "not done", "a.b.c ?? 'x'", "a?.b?.c == nil",
		"n > 3 ? 'b' : 'a'", "x not in [1, 2.5,]", "items[0].id", "nodes['a-b'].output", "-n * (2 + m) ** 2", "a < b <= c", "a ?: b", "'ünï' + n", "a.not.in", "len(items) > 0", "f()", "get(m, 'x',).y", "upper(trim(s))[0]",
		"!a || b && c != d", "", "name matches '^h'", "[]", "a[b ? c : d]",
	} {
		if got, want := samePlain(t, &p, src), src != ""; got != want {
			t.Errorf("%q: plain is %v", src, got)
		}
	}
	for _, src := range seeds() {
		samePlain(t, &p, src)
	}
}

// Words put together by chance: the trees of those that are plain are the
// library's.
func TestPlainParserByChance(t *testing.T) {
	words := strings.Fields("a b.c x n 1 2.5 007 'x' \"é\" true nil not in and or && || == != < <= > >= + - * / % ** ^ ?? ? : ?. . .. | ( ) [ ] , ! len( f( " +
		"matches contains startsWith endsWith if let ; # { } len( map( 'a\\n' 1_0 0x1 .5 1. é = & <* =* `r` // b'x' :: True $env")
	r := rand.New(rand.NewPCG(1, 2))
	var p plainParser
	plain := 0
	for range 200_000 {
		var b strings.Builder
		for range 1 + r.IntN(9) {
			most := len(words)
			if r.IntN(4) > 0 {
				most = 49 // those before the odd ones
			}
			b.WriteString(words[r.IntN(most)])
			if r.IntN(3) > 0 {
				b.WriteString(" ")
			}
		}
		if samePlain(t, &p, b.String()) {
			plain++
		}
	}
	if plain < 5000 {
		t.Fatalf("only %d texts were plain", plain)
	}
}

func FuzzPlainParser(f *testing.F) {
	for _, s := range seeds() {
		f.Add(s)
	}
	var p plainParser
	f.Fuzz(func(t *testing.T, src string) { samePlain(t, &p, src) })
}
