// Programs, the paths that they may read, and their evaluation.

package eval

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
)

// Want is the use of an expression.
type Want int

// The uses of an expression: any value, or a condition, which must be boolean.
const (
	Value Want = iota + 1
	Condition
)

// Compile checks an expression and compiles it. A Condition must be able to return a boolean. A
// result of unknown type is checked when the program runs.
func (s *Scope) Compile(src string, want Want) (p *Program, err *Error) {
	c := checker{scope: s}
	defer func() {
		if r := recover(); r != nil {
			var ok bool
			if err, ok = r.(*Error); !ok {
				panic(r)
			}
			p = nil
		}
	}()
	if err := c.src.scan(src); err != nil {
		return nil, err
	}
	syntax, err := parseSource(&c.src)
	if err != nil {
		return nil, err
	}
	t := c.checkValue(syntax)
	if want == Condition && !t.canBe(kindBool) {
		return nil, errorAt(RuleNotBoolean, t.from, t.to, "condition must be boolean, this is %s", t.Type.WithArticle())
	}
	slices.SortFunc(c.pathSpans, func(a, b pathSpan) int { return cmp.Or(a.from-b.from, b.to-a.to) })
	return &Program{Source: src, Tree: t, ReadSet: ReadSet{sortReads(c.reads), s.opts.Roots}, pathSpans: c.pathSpans}, nil
}

// Program is a checked expression, safe for concurrent use.
type Program struct {
	ReadSet
	// Source is the source text, and Tree the expression. Neither must be changed.
	Source    string
	Tree      *Tree
	pathSpans []pathSpan // where paths are read, outermost first
}

// Type returns the static type of the result.
func (p *Program) Type() Type { return p.Tree.Type }

// Path returns the names and indexes of a program that is a path, such as input.items[0], or nil.
func (p *Program) Path() []any { return p.Tree.ref.path() }

// Const returns the value of a program that reads no names and does not fail.
func (p *Program) Const() (value any, ok bool) {
	if len(p.Reads) > 0 {
		return nil, false
	}
	value, err := new(VM).Eval(p, nil)
	return value, err == nil
}

// VM evaluates programs. The zero value is ready; one VM is reused for many
// evaluations, but not by several goroutines at once.
type VM struct {
	// Before, if set, returns the environment to use instead of env.
	Before func(p *Program, env map[string]any) map[string]any

	frame frame
}

// Eval evaluates a program over an environment of canonical plain data. Missing names are null. The
// result is canonical and may share parts with the environment. The error is a *Error.
func (v *VM) Eval(p *Program, env map[string]any) (any, error) {
	out, err := v.evalTree(p, p.Tree, env)
	if err != nil {
		return nil, err
	}
	return p.convertResult(p.Tree, out)
}

// Test evaluates a condition. A result that is not a boolean is an error.
func (v *VM) Test(p *Program, env map[string]any) (bool, error) {
	out, err := v.evalTree(p, p.Tree, env)
	b, ok := out.(bool)
	if err == nil && !ok {
		err = errorAt("", 0, len(p.Source), "condition must be boolean, this is %s", kindOf(out))
	}
	return b, err
}

// convertResult converts the result of a part to canonical data. It fails if the result
// is too large.
func (p *Program) convertResult(t *Tree, out any) (any, error) {
	switch out.(type) {
	case nil, bool, string:
		return out, nil
	case []any, map[string]any:
		if t.ref != nil { // values of the environment are already canonical
			return out, nil
		}
	}
	c := canonizer{limit: maxResultSize}
	out, _ = c.convertValue(out, 0)
	if c.err != nil {
		return nil, errorAt("", 0, len(p.Source), "%v", c.err)
	}
	return out, nil
}

// evalTree evaluates a part of a program.
func (v *VM) evalTree(p *Program, t *Tree, env map[string]any) (out any, err error) {
	if v.Before != nil {
		env = v.Before(p, env)
	}
	f := &v.frame
	*f = frame{names: env, locals: f.locals[:0], loops: f.loops[:0], args: f.args[:0]}
	defer func() {
		if cause := recover(); cause != nil {
			out, err = nil, p.runError(cause, f.part, env)
		}
		f.names = nil
	}()
	return t.eval(f), nil
}

// runError returns the error of a failed operation. Its message names operands that are null.
func (p *Program) runError(cause any, part *Tree, env map[string]any) *Error {
	out := &Error{To: len(p.Source), Message: "expression failed on these values"}
	if part == nil {
		return out
	}
	out.From, out.To = part.from, part.to
	var defect runtime.Error
	err, ok := cause.(error)
	if !ok || errors.As(err, &defect) {
		return out
	}
	out.Message = err.Error()
	operands := part.operands
	if operands == nil {
		operands = []*Tree{part}
	}
	var nulls []string
	for _, o := range operands {
		if keys := o.ref.path(); keys != nil && readPath(env, keys) == nil {
			nulls = append(nulls, fmt.Sprintf("%q is null", p.Source[o.from:o.to]))
		}
	}
	if names := strings.Join(nulls, ", "); names != "" && !strings.Contains(out.Message, names) {
		out.Message += ": " + names
	}
	return out
}

// readPath returns the value at a path of names and indexes, or nil.
func readPath(env map[string]any, keys []any) any {
	var value any = env
	for _, key := range keys {
		value = memberOrNull(value, key)
	}
	return value
}

// Read is a path that an evaluation may read: a top-level name and members under it.
// An element of a list counts as the list: items[0].id reads items.
type Read struct {
	Path []string
	// Dynamic marks a path whose members are read by a computed key.
	Dynamic bool
}

// String returns the path joined by dots, with a star at the end for a computed key.
func (r Read) String() string {
	out := strings.Join(r.Path, ".")
	if r.Dynamic {
		out += ".*"
	}
	return out
}

// sortReads sorts reads and drops repeats.
func sortReads(reads []Read) []Read {
	compare := func(a, b Read) int {
		return cmp.Or(slices.Compare(a.Path, b.Path), strings.Compare(a.String(), b.String()))
	}
	slices.SortFunc(reads, compare)
	return slices.CompactFunc(reads, func(a, b Read) bool { return compare(a, b) == 0 })
}

// ReadSet holds the paths that an evaluation may read.
type ReadSet struct {
	// Reads are the paths, sorted. They must not be changed.
	Reads []Read
	roots []string // of the scope
}

// Uses reports whether the top-level name may be read, directly or as part of a whole root.
func (s *ReadSet) Uses(name string) bool {
	return slices.ContainsFunc(s.Reads, func(r Read) bool {
		return r.Path[0] == name || len(r.Path) == 1 && slices.Contains(s.roots, r.Path[0])
	})
}
