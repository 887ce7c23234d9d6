// A first version of scopes, programs and templates on the bare library.

package eval

import (
	"fmt"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm"
)

// Want says what an expression is for.
type Want int

// The uses of an expression. A condition must be boolean.
const (
	Value Want = iota + 1
	Condition
)

// Scope is the set of names an expression may read.
type Scope struct {
	names map[string]Type
	opts  ScopeOptions
}

// ScopeOptions say how names are found.
type ScopeOptions struct {
	Roots  []string
	Alias  map[string][]string
	Open   bool
	Refuse map[string]string
}

// NewScope builds a scope.
func NewScope(names map[string]Type, opts ScopeOptions) *Scope { return &Scope{names, opts} }

// Program is a compiled expression.
type Program struct {
	src   string
	prog  *vm.Program
	reads []Read
}

// Read is a path that a program may read.
type Read struct {
	Path    []string
	Dynamic bool
}

// Compile compiles an expression.
func (s *Scope) Compile(src string, want Want) (*Program, *Error) {
	p, err := expr.Compile(src, expr.AllowUndefinedVariables(), expr.Optimize(false))
	if err != nil {
		return nil, &Error{Rule: RuleSyntax, To: len(src), Message: strings.SplitN(err.Error(), "\n", 2)[0]}
	}
	out := &Program{src: src, prog: p}
	node := p.Node()
	ast.Walk(&node, out)
	return out, nil
}

// Visit collects identifiers.
func (p *Program) Visit(n *ast.Node) {
	if id, ok := (*n).(*ast.IdentifierNode); ok {
		p.reads = append(p.reads, Read{Path: []string{id.Value}})
	}
}

// Source is the text of the program.
func (p *Program) Source() string { return p.src }

// Type is the static type of the result.
func (p *Program) Type() Type { return Any() }

// Reads are the paths read.
func (p *Program) Reads() []Read { return p.reads }

// Uses reports whether a top-level name is read.
func (p *Program) Uses(name string) bool {
	for _, r := range p.reads {
		if r.Path[0] == name {
			return true
		}
	}
	return false
}

// Whole reports whether name is read as a whole.
func (p *Program) Whole(name string) bool { return p.Uses(name) }

// Const returns the value of a program that reads nothing.
func (p *Program) Const() (any, bool) {
	if len(p.reads) > 0 {
		return nil, false
	}
	v, err := (&VM{}).Eval(p, nil)
	return v, err == nil
}

// VM evaluates programs; not for concurrent use.
type VM struct{ vm vm.VM }

// Eval evaluates a program.
func (v *VM) Eval(p *Program, env map[string]any) (any, error) {
	out, err := v.vm.Run(p.prog, env)
	if err != nil {
		return nil, &RunError{To: len(p.src), Message: strings.SplitN(err.Error(), "\n", 2)[0]}
	}
	return Canonical(out)
}

// Test evaluates a condition.
func (v *VM) Test(p *Program, env map[string]any) (bool, error) {
	out, err := v.Eval(p, env)
	if err != nil {
		return false, err
	}
	b, ok := out.(bool)
	if !ok {
		return false, &RunError{To: len(p.src), Message: fmt.Sprintf("condition is %T", out)}
	}
	return b, nil
}

// Template is text with expressions.
type Template struct {
	src   string
	parts []Part
}

// Part is a piece of a template.
type Part struct {
	Text     string
	Program  *Program // nil for text
	From, To int      // of the expression in the source
	Optional bool
}

// Template compiles a template.
func (s *Scope) Template(src string) (*Template, *Error) {
	t := &Template{src: src}
	rest, at := src, 0
	for {
		i := strings.Index(rest, "{{")
		if i < 0 {
			t.parts = append(t.parts, Part{Text: rest})
			return t, nil
		}
		j := strings.Index(rest[i:], "}}")
		if j < 0 {
			return nil, &Error{Rule: RuleSyntax, From: at + i, To: at + i + 2, Message: "unclosed {{"}
		}
		if i > 0 {
			t.parts = append(t.parts, Part{Text: rest[:i]})
		}
		code := strings.TrimSpace(rest[i+2 : i+j])
		opt := strings.HasSuffix(code, "?")
		p, err := s.Compile(strings.TrimSuffix(code, "?"), Value)
		if err != nil {
			return nil, err
		}
		t.parts = append(t.parts, Part{Program: p, Optional: opt, From: at + i + 2, To: at + i + j})
		rest, at = rest[i+j+2:], at+i+j+2
		if rest == "" {
			return t, nil
		}
	}
}

// Source is the text of the template.
func (t *Template) Source() string { return t.src }

// Parts are the pieces in order.
func (t *Template) Parts() []Part { return t.parts }

// IsText reports whether the template has no expression.
func (t *Template) IsText() bool { return len(t.Reads()) == 0 }

// Reads are the paths read by all expressions.
func (t *Template) Reads() []Read {
	var out []Read
	for _, p := range t.parts {
		if p.Program != nil {
			out = append(out, p.Program.Reads()...)
		}
	}
	return out
}

// Uses reports whether a top-level name is read.
func (t *Template) Uses(name string) bool {
	for _, p := range t.parts {
		if p.Program != nil && p.Program.Uses(name) {
			return true
		}
	}
	return false
}

// Whole reports whether name is read as a whole.
func (t *Template) Whole(name string) bool { return t.Uses(name) }

// Render evaluates a template.
func (v *VM) Render(t *Template, env map[string]any) (any, error) {
	if len(t.parts) == 1 && t.parts[0].Program != nil {
		return v.Eval(t.parts[0].Program, env)
	}
	var b strings.Builder
	for _, p := range t.parts {
		if p.Program == nil {
			b.WriteString(p.Text)
			continue
		}
		out, err := v.Eval(p.Program, env)
		if err != nil && !p.Optional {
			return nil, err
		}
		b.WriteString(Text(out))
	}
	return b.String(), nil
}
