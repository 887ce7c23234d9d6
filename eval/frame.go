// Evaluation: a frame for each run of an expression, a function for each of its parts, and the limits
// on the size and the cost of an expression.

package eval

import (
	"errors"
	"fmt"
	"iter"
)

// evaluator computes the value of a part. It panics with an error.
type evaluator = func(f *frame) any

// operation computes a value from arguments, which it must not keep. It panics with an error.
type operation = func(f *frame, args []any) any

// binaryOperation computes a value from two operands. It panics with an error.
type binaryOperation = func(f *frame, a, b any) any

const (
	maxSource     = 4 << 10 // bytes of one expression
	maxNesting    = 64      // brackets, prefix operators and branches inside each other
	maxNodes      = 500     // syntax nodes of one expression
	maxPredicates = 2       // any, filter, map and the like inside each other

	// budget bounds the units of one evaluation, which ends or fails within a tenth of a second.
	// An operation inside a predicate (some 20 ns) and a list element each cost about one unit, as do
	// 4 bytes of a new string. So all new strings together stay below 16 MB.
	budget = 4_000_000

	bytesBuilt    = 4         // bytes of new text that cost one unit
	bytesRead     = 32        // bytes of scanned text that cost one unit
	costCall      = 6         // extra units of a call, which needs an argument list
	costList      = 4         // extra units of a list literal
	costObject    = 20        // extra units of an object literal, which is a map
	maxElements   = 1_000_000 // of a list that a function builds
	maxRegexpSize = 1000
	maxResultSize = 64 << 20 // bytes of a result, counted as a tree
	maxRendered   = 64 << 20 // bytes of a rendered template
)

var errBudget = errors.New("the expression needs too much time or memory on these values")

// frame holds the state of one evaluation.
type frame struct {
	names  map[string]any
	locals []any   // values of let, the outermost first
	loops  []round // of predicates, the outermost first
	args   []any   // of operations that are being called
	spent  int
	part   *Tree // the part whose operation runs
}

// round is the current element of a predicate's list.
type round struct {
	element, acc any
	index        int
}

// spend charges units. Operations spend before they allocate.
func (f *frame) spend(units int) {
	if f.spent += units; f.spent >= budget {
		panic(errBudget)
	}
}

// spendText charges for bytes of new text.
func (f *frame) spendText(bytes int) { f.spend(bytes/bytesBuilt + 1) }

// spendRead charges for bytes that are compared, searched or hashed.
func (f *frame) spendRead(bytes int) { f.spend(bytes / bytesRead) }

// enterElements makes each element the current one and yields its index, from the end if backward.
func (f *frame) enterElements(list []any, backward bool) iter.Seq[int] {
	return func(yield func(i int) bool) {
		f.loops = append(f.loops, round{})
		at := len(f.loops) - 1
		for i := range list {
			if backward {
				i = len(list) - 1 - i
			}
			f.loops[at].element, f.loops[at].index = list[i], i
			if !yield(i) {
				break
			}
		}
		f.loops = f.loops[:at]
	}
}

// currentElement returns the element of the innermost predicate.
func (f *frame) currentElement() any { return f.loops[len(f.loops)-1].element }

// applyOperation returns an evaluator that calls run with the values of args.
func (t *Tree) applyOperation(run operation, args ...evaluator) evaluator {
	return func(f *frame) any {
		base := len(f.args)
		for _, arg := range args {
			f.args = append(f.args, arg(f))
		}
		f.part = t
		out := run(f, f.args[base:])
		f.args = f.args[:base]
		return out
	}
}

// applyOperator returns an evaluator that calls run with the values of a and b.
func (t *Tree) applyOperator(run binaryOperation, a, b evaluator) evaluator {
	return func(f *frame) any {
		x, y := a(f), b(f)
		f.part = t
		return run(f, x, y)
	}
}

// requireCondition returns the evaluator of a part that must be boolean.
func (t *Tree) requireCondition() evaluator {
	t.requireKinds("expected a boolean", kindBool)
	return t.requireBoolean(t.eval)
}

// requireBoolean returns an evaluator that fails at the part unless the value is a boolean.
func (t *Tree) requireBoolean(value evaluator) evaluator {
	return func(f *frame) any {
		v := value(f)
		if _, ok := v.(bool); !ok {
			f.part = t
			panic(fmt.Errorf("expected a boolean, found %s", kindOf(v)))
		}
		return v
	}
}

// constantPart returns the tree of a scalar.
func constantPart(v any, from, to int) *Tree {
	return &Tree{Op: TreeConst, Value: v, Type: typeOf(v), from: from, to: to, eval: func(*frame) any { return v }}
}

// skipped is the value that a path has after ?. on null: its remaining members are not read.
type skipped struct{}

// followMember returns the evaluator of base[key].
func (t *Tree) followMember(base, key evaluator, optional bool) evaluator {
	return func(f *frame) any {
		of := base(f)
		if of == (skipped{}) || optional && of == nil {
			return skipped{}
		}
		k := key(f)
		f.part = t
		if _, isObject := of.(map[string]any); isObject && optional && k == nil {
			return nil
		}
		return fetchMember(f, of, k)
	}
}
