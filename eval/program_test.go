package eval

import (
	"reflect"
	"testing"
)

// lazyScope is a scope like s whose programs are made ready when they first run.
func lazyScope(s *Scope) *Scope {
	out := *s
	out.lazy = true
	return &out
}

// sameProgram compiles a text by a Compiler that has done others before, for
// looking at it only, and fails when anything differs from compiling it alone.
func sameProgram(t *testing.T, k *Compiler, lazy *Scope, src string, want Want, p *Program, err *Error) {
	t.Helper()
	q, qerr := k.Compile(lazy, src, want)
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
	if a, b := p.runs(), q.runs(); a.from != b.from || a.to != b.to || !reflect.DeepEqual(a.sites, b.sites) ||
		!reflect.DeepEqual(a.places, b.places) || !reflect.DeepEqual(a.vm.Bytecode, b.vm.Bytecode) || !reflect.DeepEqual(a.vm.Arguments, b.vm.Arguments) {
		t.Fatalf("%q runs as\n%s, and among others as\n%s", src, a.vm.Disassemble(), b.vm.Disassemble())
	}
	if again, err := k.Compile(lazy, src, want); again != q || err != nil {
		t.Fatalf("%q is compiled twice", src)
	}
}

// What a program is does not depend on what its compiler did before, nor on
// whether it is to run at once.
func TestCompiler(t *testing.T) {
	var k Compiler
	for _, scope := range []*Scope{fuzzScope(), testScope(), NewScope(nil, ScopeOptions{Open: true})} {
		lazy := lazyScope(scope)
		for _, src := range seeds() {
			for _, want := range []Want{Value, Condition} {
				p, err := scope.Compile(src, want)
				sameProgram(t, &k, lazy, src, want, p, err)
			}
		}
	}
}
