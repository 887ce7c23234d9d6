package eval

import (
	"reflect"
	"testing"
)

// sameProgram compiles a text by a Compiler that has done others before, and fails
// when anything differs from compiling it alone.
func sameProgram(t *testing.T, k *Compiler, scope *Scope, src string, want Want, p *Program, err *Error) {
	t.Helper()
	q, qerr := k.Compile(scope, src, want)
	if !reflect.DeepEqual(err, qerr) {
		t.Fatalf("%q: %+v, and among others %+v", src, err, qerr)
	}
	if err != nil {
		return
	}
	if !reflect.DeepEqual(p.Type(), q.Type()) || !reflect.DeepEqual(p.Path(), q.Path()) || len(p.Reads())+len(q.Reads()) > 0 && !reflect.DeepEqual(p.Reads(), q.Reads()) {
		t.Fatalf("%q: %v %v %v, and among others %v %v %v", src, p.Type(), p.Path(), p.Reads(), q.Type(), q.Path(), q.Reads())
	}
	if got, want := q.Tree().Key(), p.Tree().Key(); got != want {
		t.Fatalf("%q is %s, and among others %s", src, want, got)
	}
	a, b := p.tree.compile(), q.tree.compile()
	if a == nil || b == nil {
		t.Fatalf("%q can't be compiled", src)
	}
	if p.tree.from != q.tree.from || p.tree.to != q.tree.to || !reflect.DeepEqual(p.places, q.places) ||
		!reflect.DeepEqual(a.Bytecode, b.Bytecode) || !reflect.DeepEqual(a.Arguments, b.Arguments) {
		t.Fatalf("%q runs as\n%s, and among others as\n%s", src, a.Disassemble(), b.Disassemble())
	}
	if again, err := k.Compile(scope, src, want); again != q || err != nil {
		t.Fatalf("%q is compiled twice", src)
	}
}

// What a program is does not depend on what its compiler did before.
func TestCompiler(t *testing.T) {
	var k Compiler
	for _, scope := range []*Scope{fuzzScope(), testScope(), NewScope(nil, ScopeOptions{Open: true})} {
		for _, src := range seeds() {
			for _, want := range []Want{Value, Condition} {
				p, err := scope.Compile(src, want)
				sameProgram(t, &k, scope, src, want, p, err)
			}
		}
	}
}
