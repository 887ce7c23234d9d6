// Evaluation: running programs and explaining why they failed.

package eval

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"
)

var errBudget = errors.New("the expression needs too much time or memory on these values")

// VM evaluates programs. The zero value is ready; one VM is reused for many
// evaluations, but not by several goroutines at once.
type VM struct {
	// Before, if set, returns the environment to use instead of the one that is given.
	Before func(p *Program, env map[string]any) map[string]any

	vm    vm.VM
	frame frame
}

// Eval evaluates a program over an environment of canonical plain data. Missing names are
// null. The result is canonical and may share parts with the environment. The error is a
// *RunError.
func (v *VM) Eval(p *Program, env map[string]any) (any, error) {
	out, err := v.run(p, env)
	if err != nil {
		return nil, err
	}
	return p.canonicalResult(p.tree, out)
}

// canonicalResult converts the result of a tree to canonical data. It fails if the result is
// too large.
func (p *Program) canonicalResult(t *Tree, out any) (any, error) {
	switch out.(type) {
	case nil, bool, string:
		return out, nil
	case []any, map[string]any:
		if t.ref != nil { // a part of the environment is canonical already
			return out, nil
		}
	}
	c := canonizer{limit: maxResultSize}
	out, _, err := c.value(out, 0)
	if err != nil {
		return nil, &RunError{To: len(p.src), Message: err.Error()}
	}
	return out, nil
}

// Test evaluates a condition. A result that is not a boolean is an error.
func (v *VM) Test(p *Program, env map[string]any) (bool, error) {
	out, err := v.run(p, env)
	if err != nil {
		return false, err
	}
	b, ok := out.(bool)
	if !ok {
		return false, &RunError{To: len(p.src), Message: "condition must be boolean, this is " + kindOf(out)}
	}
	return b, nil
}

func (v *VM) run(p *Program, env map[string]any) (any, error) {
	if v.Before != nil {
		env = v.Before(p, env)
	}
	code := p.code.Load()
	if code == nil {
		code = p.tree.compile()
		p.code.Store(code)
	}
	return v.runCode(p, code, env)
}

func (v *VM) runCode(p *Program, code *vm.Program, env map[string]any) (any, error) {
	if code == nil {
		return nil, &RunError{To: len(p.src), Message: "expression can't be compiled"}
	}
	v.vm.MemoryBudget = budget
	v.frame = frame{names: env}
	out, err := v.vm.Run(code, &v.frame)
	if err != nil {
		err = v.explain(p, err)
	}
	v.frame = frame{}
	return out, err
}

// explain describes a failed operation and names operands that are null.
func (v *VM) explain(p *Program, err error) *RunError {
	out := &RunError{To: len(p.src), Message: "expression failed on these values"}
	var fe *file.Error
	if !errors.As(err, &fe) {
		return out
	}
	if fe.From >= 0 && fe.To <= len(p.src) && fe.From < fe.To {
		out.From, out.To = fe.From, fe.To
	}
	var defect runtime.Error
	var failed *partError
	switch {
	case fe.Prev == nil: // the library's own budget, for the lists that it builds
		out.Message = errBudget.Error()
	case !errors.As(fe, &defect) && errors.As(fe, &failed):
		out.Message = fe.Message
		if names := failed.part.nulls(p.src, v.frame.names); names != "" && !strings.Contains(out.Message, names) {
			out.Message += ": " + names
		}
	}
	return out
}

// nulls lists the operands of a failed operation that are null.
func (t *Tree) nulls(src string, env map[string]any) string {
	operands := t.operands
	if operands == nil {
		operands = []*Tree{t}
	}
	var out []string
	for _, o := range operands {
		if keys := o.ref.constant(); keys != nil && lookup(env, keys) == nil {
			out = append(out, fmt.Sprintf("%q is null", src[o.from:o.to]))
		}
	}
	return strings.Join(out, ", ")
}

// lookup returns the value at a path of names and indexes, or nil.
func lookup(env map[string]any, keys []any) any {
	var value any = env
	for _, key := range keys {
		value, _ = getMember(value, key)
	}
	return value
}
