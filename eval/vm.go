// Evaluation: running programs and explaining why they failed.

package eval

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"
)

var errBudget = errors.New("the expression needs too much time or memory on these values")

// VM evaluates programs. The zero value is ready; one VM is reused for many
// evaluations, but not by several goroutines at once.
type VM struct{ vm vm.VM }

// Eval evaluates a program over an environment of canonical plain data: nil,
// bool, int, float64, string, []any and map[string]any. The result is
// canonical and may share parts with the environment. Names that the
// environment doesn't hold read as null. The error is a *RunError.
func (v *VM) Eval(p *Program, env map[string]any) (any, error) {
	out, err := v.run(p, env)
	if err != nil {
		return nil, err
	}
	switch r := out.(type) {
	case nil, bool, string:
		return out, nil
	case int:
		if r <= maxInt && r >= -maxInt {
			return out, nil
		}
	case []any, map[string]any:
		if p.ref != nil { // a part of the environment is canonical already
			return out, nil
		}
	}
	c := canonizer{limit: maxResultSize}
	out, _, cerr := c.value(out, 0)
	if cerr != nil {
		return nil, &RunError{To: len(p.src), Message: cerr.Error()}
	}
	return out, nil
}

// Test evaluates a condition. A result that is no boolean is an error, null
// too.
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
	v.vm.MemoryBudget = budget
	code := p.vm.Load()
	if code == nil {
		if code = p.runs().vm; code == nil {
			return nil, &RunError{To: len(p.src), Message: "expression can't be compiled"}
		}
	}
	out, err := v.vm.Run(code, env)
	if err != nil {
		return nil, p.explain(err, p.runs().sites, env)
	}
	return out, nil
}

// explain puts a failed operation into words and names operands that are null.
func (p *Program) explain(err error, sites []site, env map[string]any) *RunError {
	out := &RunError{To: len(p.src), Message: "expression failed on these values"}
	var fe *file.Error
	if !errors.As(err, &fe) {
		return out
	}
	if fe.From >= 0 && fe.To <= len(p.src) && fe.From < fe.To {
		out.From, out.To = fe.From, fe.To
	}
	out.Message = runMessage(fe)
	for i := range sites {
		s := &sites[i]
		if s.from == fe.From && s.to == fe.To {
			if names := s.nulls(p.src, env); names != "" && !strings.Contains(out.Message, names) {
				out.Message += ": " + names
			}
			break
		}
	}
	return out
}

// nulls names the operands that are null in the environment.
func (s *site) nulls(src string, env map[string]any) string {
	var out []string
	for _, o := range s.args {
		if o.keys == nil {
			continue
		}
		if lookup(env, o.keys) == nil {
			out = append(out, fmt.Sprintf("%q is null", src[o.from:o.to]))
		}
	}
	return strings.Join(out, ", ")
}

// lookup follows a path of names and indexes; nil when a part of it is missing or
// is no object or list.
func lookup(env map[string]any, keys []any) any {
	var value any = env
	for _, key := range keys {
		switch base := value.(type) {
		case map[string]any:
			name, isName := key.(string)
			if !isName {
				return nil
			}
			value = base[name]
		case []any:
			i, isIndex := key.(int)
			if i < 0 {
				i += len(base)
			}
			if !isIndex || i < 0 || i >= len(base) {
				return nil
			}
			value = base[i]
		default:
			return nil
		}
	}
	return value
}

// runMessage translates what the interpreter says; our own operations speak
// for themselves.
func runMessage(fe *file.Error) string {
	var op *opError
	for _, known := range []error{errBudget, errTooBig, errTooDeep, errNotFinite, errResultSize} {
		if errors.Is(fe, known) {
			return known.Error()
		}
	}
	if errors.As(fe, &op) {
		return op.message
	}
	text := fe.Message
	switch {
	case text == "memory budget exceeded":
		return errBudget.Error()
	case strings.HasPrefix(text, "reduce of empty array"):
		return "reduce of an empty list needs a first value as its third argument"
	case strings.HasPrefix(text, "index out of range"):
		return "index is out of range"
	}
	if m := conversion().FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("expected a %s, found %s", plainKind(m[2]), plainKind(m[1]))
	}
	if m := binaryFailure().FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("cannot use %s on %s and %s", m[2], plainKind(m[1]), plainKind(m[3]))
	}
	if m := unaryFailure().FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("cannot use %s on %s", m[1], plainKind(m[2]))
	}
	if m := fetchFailure().FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("%s has no member %s", plainKind(m[2]), keyText(m[1]))
	}
	return "expression failed on these values"
}

func conversion() *regexp.Regexp {
	return regexp.MustCompile(`^interface conversion: interface \{\} is (.+), not (.+)$`)
}

func binaryFailure() *regexp.Regexp {
	return regexp.MustCompile(`^invalid operation: (\S.*) (\S+) (\S.*)$`)
}

func unaryFailure() *regexp.Regexp {
	return regexp.MustCompile(`^invalid operation: (\S+) (\S+)$`)
}

func fetchFailure() *regexp.Regexp {
	return regexp.MustCompile(`^cannot fetch (.+) from (.+)$`)
}

// plainKind names a Go type in JSON terms.
func plainKind(goType string) string {
	switch goType {
	case "<nil>", "nil":
		return "null"
	case "int":
		return "integer"
	case "float64":
		return "number"
	case "bool":
		return "boolean"
	case "[]interface {}", "[]interface{}", "[]any":
		return "list"
	case "map[string]interface {}", "map[string]interface{}", "map[string]any":
		return "object"
	}
	return goType
}
