// Evaluation: running programs and explaining why they failed.

package eval

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
)

// failedOnValues is the message for a defect of this package.
const failedOnValues = "expression failed on these values"

var errBudget = errors.New("the expression needs too much time or memory on these values")

// VM evaluates programs. The zero value is ready; one VM is reused for many
// evaluations, but not by several goroutines at once.
type VM struct {
	// Before, if set, returns the environment to use instead of the one that is given.
	Before func(p *Program, env map[string]any) map[string]any

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
	return v.runTree(p, p.tree, env)
}

// runTree evaluates a part of a program.
func (v *VM) runTree(p *Program, t *Tree, env map[string]any) (out any, err error) {
	f := &v.frame
	*f = frame{names: env, locals: f.locals[:0], loops: f.loops[:0], args: f.args[:0]}
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, p.explain(r, env)
		}
		f.names = nil
	}()
	return t.eval(f), nil
}

// explain describes a failed operation and names operands that are null.
func (p *Program) explain(cause any, env map[string]any) *RunError {
	out := &RunError{To: len(p.src), Message: failedOnValues}
	failed, ok := cause.(*partError)
	if !ok {
		return out
	}
	out.From, out.To = failed.part.from, failed.part.to
	var defect runtime.Error
	if errors.As(failed.error, &defect) {
		return out
	}
	out.Message = failed.Error()
	if names := failed.part.nulls(p.src, env); names != "" && !strings.Contains(out.Message, names) {
		out.Message += ": " + names
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
