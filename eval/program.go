// Compilers, and the programs that they make.

package eval

import (
	"slices"
	"sync/atomic"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/vm"
)

// Want says what an expression is for.
type Want int

// The uses of an expression: any value, or a condition, which must be boolean.
const (
	Value Want = iota + 1
	Condition
)

// Compiler compiles many expressions, those of one file for example, at less
// cost: what they have in common is made once, and equal texts in one scope are
// one program. The zero value is ready. It is not for several goroutines at
// once; its programs and templates are.
type Compiler struct {
	programs map[programKey]*Program
	names    nameTable
	config   *conf.Config
	trees    treeBuilder
	checker  checker
	busy     bool // its parts are in use
}

// programKey tells the programs of a compiler apart.
type programKey struct {
	scope *Scope
	src   string
	want  Want
}

// Compile checks an expression against a scope and compiles it. Condition
// refuses what can't be boolean; a result of unknown type is checked when it
// runs. The program may be shared between goroutines.
func (k *Compiler) Compile(s *Scope, src string, want Want) (*Program, *Error) {
	key := programKey{s, src, want}
	if p := k.programs[key]; p != nil {
		return p, nil
	}
	p, err := k.compile(s, src, want, s.lazy)
	if err == nil {
		if k.programs == nil {
			k.programs = map[programKey]*Program{}
		}
		k.programs[key] = p
	}
	return p, err
}

// Compile is what a Compiler does, for one expression.
func (s *Scope) Compile(src string, want Want) (*Program, *Error) {
	return new(Compiler).compile(s, src, want, s.lazy)
}

func (k *Compiler) compile(s *Scope, src string, want Want, lazy bool) (*Program, *Error) {
	if k.busy { // asked by a type that is worked out while another expression is checked
		return new(Compiler).compile(s, src, want, lazy)
	}
	k.busy = true
	defer func() { k.busy = false }()
	c := &k.checker
	if k.names == nil {
		k.names = nameTable{}
	}
	c.reset(s, k.names)
	if err := c.src.scan(src); err != nil {
		return nil, err
	}
	syntax, err := k.parse(&c.src)
	if err != nil {
		return nil, err
	}
	result := c.value(syntax)
	if c.err == nil && want == Condition && !result.may(kindBool) {
		c.fail(RuleNotBoolean, result.from, result.to, "condition must be boolean, this is %s", article(result.typ))
	}
	if c.err != nil {
		return nil, c.err
	}
	p := &Program{
		src: src, want: want, scope: s, typ: result.typ,
		reads: slices.Clone(c.reads.sorted()), ref: result.ref,
	}
	if lazy {
		if want == Condition { // whoever looks at conditions asks for their trees
			p.tree.Store(k.tree(p, syntax))
		}
		return p, nil
	}
	if k.config == nil {
		k.config = newConfig()
	}
	runs, err := c.assemble(result.node, k.config)
	if err != nil {
		return nil, err
	}
	runs.from, runs.to = result.from, result.to
	p.code.Store(runs)
	p.vm.Store(runs.vm)
	return p, nil
}

// parse yields the library's tree.
func (k *Compiler) parse(s *source) (ast.Node, *Error) {
	if k.config == nil {
		k.config = newConfig()
	}
	return parse(s, k.config)
}

// Program is a compiled expression, safe for concurrent use.
type Program struct {
	vm    atomic.Pointer[vm.Program] // that of code, at hand where it counts
	ref   *ref                       // the path, when the whole expression is one
	src   string
	want  Want
	typ   Type
	reads []Read

	scope *Scope               // what the names mean
	tree  atomic.Pointer[Tree] // nil until it is asked for
	code  atomic.Pointer[code] // of a lazy scope: nil until it is asked for
}

// code is what a program needs to run, and to tell how it went.
type code struct {
	vm    *vm.Program // nil when it can't be compiled, which is a defect
	sites []site

	from, to int     // the expression without what is around it
	places   []place // where paths are read, outermost first
	outline  atomic.Pointer[outline]
}

// runs makes the program ready to run; that of a lazy scope is compiled now.
func (p *Program) runs() *code {
	if c := p.code.Load(); c != nil {
		return c
	}
	c := &code{}
	if full, err := new(Compiler).compile(p.scope, p.src, p.want, false); err == nil {
		c = full.code.Load()
	}
	if p.code.CompareAndSwap(nil, c) {
		p.vm.Store(c.vm)
	}
	return p.code.Load()
}

// Source is the text that was compiled.
func (p *Program) Source() string { return p.src }

// Type is what is known of the result.
func (p *Program) Type() Type { return p.typ }

// Reads are the paths that an evaluation may read, sorted. The slice is the
// program's own.
func (p *Program) Reads() []Read { return p.reads }

// Uses reports whether an evaluation may read the top-level name.
func (p *Program) Uses(name string) bool { return uses(p.reads, p.scope.roots, name) }

// Whole reports whether an evaluation may read the top-level name as a whole or
// by a computed key, so that no part of it can be left out.
func (p *Program) Whole(name string) bool { return whole(p.reads, p.scope.roots, name) }

// Path is the path of a program that only reads one, such as input.items[0]:
// names and indexes; nil for other programs.
func (p *Program) Path() []any { return p.ref.constant() }

// Const returns the value of a program that reads nothing; not ok when it
// reads something or fails.
func (p *Program) Const() (value any, ok bool) {
	if len(p.reads) > 0 {
		return nil, false
	}
	value, err := new(VM).Eval(p, nil)
	return value, err == nil
}
