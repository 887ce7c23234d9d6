// Programs: compiled expressions.

package eval

// Want says what an expression is for.
type Want int

// The uses of an expression: any value, or a condition, which must be boolean.
const (
	Value Want = iota + 1
	Condition
)

// Compile checks an expression and compiles it. Condition refuses what can't be boolean; a
// result of unknown type is checked when it runs.
func (s *Scope) Compile(src string, want Want) (*Program, *Error) {
	c := checker{scope: s}
	if err := c.src.scan(src); err != nil {
		return nil, err
	}
	syntax, err := parse(&c.src)
	if err != nil {
		return nil, err
	}
	t := c.value(syntax)
	if c.err == nil && want == Condition && !t.may(kindBool) {
		c.fail(RuleNotBoolean, t.from, t.to, "condition must be boolean, this is %s", article(t.Type))
	}
	if c.err != nil {
		return nil, c.err
	}
	sortPlaces(c.places)
	return &Program{src: src, roots: s.roots, tree: t, reads: sortReads(c.reads), places: c.places}, nil
}

// Program is a checked expression, safe for concurrent use.
type Program struct {
	src    string
	roots  []string // of the scope
	tree   *Tree
	reads  []Read
	places []place // where paths are read, outermost first
}

// Tree returns the tree of the expression. It must not be changed.
func (p *Program) Tree() *Tree { return p.tree }

// Source returns the source text.
func (p *Program) Source() string { return p.src }

// Type returns the static type of the result.
func (p *Program) Type() Type { return p.tree.Type }

// Reads returns the paths that an evaluation may read, sorted. It must not be changed.
func (p *Program) Reads() []Read { return p.reads }

// Uses reports whether an evaluation may read the top-level name.
func (p *Program) Uses(name string) bool { return uses(p.reads, p.roots, name) }

// Whole reports whether an evaluation may read all of the top-level name.
func (p *Program) Whole(name string) bool { return whole(p.reads, p.roots, name) }

// Path returns the names and indexes of a program that is a path, such as input.items[0],
// or nil.
func (p *Program) Path() []any { return p.tree.ref.constant() }

// Const returns the value of a program that reads nothing and does not fail.
func (p *Program) Const() (value any, ok bool) {
	if len(p.reads) > 0 {
		return nil, false
	}
	value, err := new(VM).Eval(p, nil)
	return value, err == nil
}
