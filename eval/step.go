// Evaluation: the function of each part of an expression.

package eval

// evaluator computes the value of a part. It panics with an error.
type evaluator = func(f *frame) any

// operation computes a value and its cost in units. It must not keep args. It panics with
// an error.
type operation = func(args ...any) (any, uint)

// frame is one evaluation.
type frame struct {
	names  map[string]any
	locals []any   // values of let, the outermost first
	loops  []round // of predicates, the outermost first
	args   []any   // of operations that are being called
	spent  uint
}

// round is one element of a predicate's list.
type round struct {
	element, acc any
	index        int
}

func (f *frame) spend(units uint) {
	if f.spent += units; f.spent >= budget {
		panic(errBudget)
	}
}

// partError is the error of an operation, with its part.
type partError struct {
	error
	part *Tree
}

// blame adds the part to a panic; the operations of a part defer it.
func (t *Tree) blame() {
	if err, ok := recover().(error); ok {
		panic(&partError{err, t})
	}
}

// operate makes an evaluator that calls an operation of a part.
func (t *Tree) operate(run operation, args ...evaluator) evaluator {
	return func(f *frame) any {
		base := len(f.args)
		for _, arg := range args {
			f.args = append(f.args, arg(f))
		}
		out := t.apply(f, run, f.args[base:])
		clear(f.args[base:])
		f.args = f.args[:base]
		return out
	}
}

func (t *Tree) apply(f *frame, run operation, args []any) any {
	defer t.blame()
	out, units := run(args...)
	f.spend(units)
	return out
}

// operateFree is operate for a free operation on two values.
func (t *Tree) operateFree(run func(a, b any) any, a, b evaluator) evaluator {
	return func(f *frame) any {
		x, y := a(f), b(f)
		defer t.blame()
		return run(x, y)
	}
}

// charged is operate for an operation whose cost depends on its data.
func (c *checker) charged(t *Tree, run operation, args ...evaluator) evaluator {
	c.cost += costCall
	return t.operate(run, args...)
}

// boolean makes a value a boolean or fails; the error names the part blamed.
func (t *Tree) boolean(blamed *Tree) evaluator {
	if t.isBoolean() {
		return t.eval
	}
	return blamed.operate(mustBeBoolean, t.eval)
}

func mustBeBoolean(args ...any) (any, uint) {
	if _, ok := args[0].(bool); !ok {
		panic(failf("expected a boolean, found %s", kindOf(args[0])))
	}
	return args[0], 0
}

// constantPart makes the tree of a scalar.
func constantPart(v any, from, to int) *Tree {
	return &Tree{Op: TreeConst, Value: v, Type: typeOf(v), from: from, to: to, eval: func(*frame) any { return v }}
}

// skipped is the value of a path such as a?.b behind the ?. of a null, until the path ends.
type skipped struct{}

// follow makes the evaluator of base[key].
func (t *Tree) follow(base, key evaluator, optional bool) evaluator {
	run := operation(fetchMember)
	if optional {
		run = fetchOptional
	}
	fetch := func(f *frame, of any) any {
		from := len(f.args)
		f.args = append(f.args, of, key(f))
		out := t.apply(f, run, f.args[from:])
		f.args = f.args[:from]
		return out
	}
	return func(f *frame) any {
		of := base(f)
		if of == (skipped{}) || optional && of == nil {
			return skipped{}
		}
		return fetch(f, of)
	}
}

// loop runs the rounds of a predicate over a list, from the end if backward, until next
// returns false.
func (f *frame) loop(list []any, backward bool, next func(i int) bool) {
	f.loops = append(f.loops, round{})
	at := len(f.loops) - 1
	for i := range list {
		if backward {
			i = len(list) - 1 - i
		}
		f.loops[at].element, f.loops[at].index = list[i], i
		if !next(i) {
			break
		}
	}
	f.loops = f.loops[:at]
}

func currentElement(f *frame) any { return f.loops[len(f.loops)-1].element }

// search returns the index of the first or last element whose body is want, or -1.
func search(f *frame, list []any, body evaluator, want, backward bool) int {
	found := -1
	f.loop(list, backward, func(i int) bool {
		if body(f) == want {
			found = i
		}
		return found < 0
	})
	return found
}

// looping computes a predicate from its list, body and further arguments. The body is nil
// if a plain sum has none.
type looping = func(f *frame, t *Tree, list []any, body evaluator, more []evaluator) any

// test makes the loop of all, any or none: whether an element is found whose body is want.
func test(want, found bool) looping {
	return func(f *frame, _ *Tree, list []any, body evaluator, _ []evaluator) any {
		return search(f, list, body, want, false) >= 0 == found
	}
}

// find makes the loop of find, findIndex and those from the end.
func find(backward bool, result func(list []any, i int) any) looping {
	return func(f *frame, _ *Tree, list []any, body evaluator, _ []evaluator) any {
		if i := search(f, list, body, true, backward); i >= 0 {
			return result(list, i)
		}
		return nil
	}
}

func elementAt(list []any, i int) any { return list[i] }

func index(_ []any, i int) any { return i }

// filter makes the loop of filter, one and count from the elements whose body is true.
func filter(result func(found []any) any) looping {
	return func(f *frame, _ *Tree, list []any, body evaluator, _ []evaluator) any {
		found := []any{}
		f.loop(list, false, func(i int) bool {
			if body(f) == true {
				found = append(found, list[i])
			}
			return true
		})
		return result(found)
	}
}

// mapList returns the values of body for the elements of a list.
func mapList(f *frame, _ *Tree, list []any, body evaluator, _ []evaluator) any {
	out := make([]any, len(list))
	f.loop(list, false, func(i int) bool { out[i] = body(f); return true })
	return out
}

// sumList adds the values of body, or those of the list.
func sumList(f *frame, t *Tree, list []any, body evaluator, _ []evaluator) any {
	var values any = list
	if body != nil {
		values = mapList(f, t, list, body, nil)
	}
	return t.apply(f, sumValues, []any{values})
}

// withKeys makes a loop that calls an operation with the list, the values of body and
// further arguments.
func withKeys(run operation) looping {
	return func(f *frame, t *Tree, list []any, body evaluator, more []evaluator) any {
		args := []any{list, mapList(f, t, list, body, nil)}
		for _, arg := range more {
			args = append(args, arg(f))
		}
		return t.apply(f, run, args)
	}
}

// reduceList folds a list, from its first element if there is no first value.
func reduceList(f *frame, _ *Tree, list []any, body evaluator, more []evaluator) any {
	var acc any
	begin := 0
	if len(more) > 0 {
		acc = more[0](f)
	} else {
		acc, begin = list[0], 1
	}
	f.loop(list, false, func(i int) bool {
		if i >= begin {
			f.loops[len(f.loops)-1].acc = acc
			acc = body(f)
		}
		return true
	})
	return acc
}
