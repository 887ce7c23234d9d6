// Package eval compiles and evaluates the expressions and templates of graph
// files: conditions, values and text with {{ expressions }}.
//
// The syntax is the one of expr-lang. The package uses its parser, but checks and evaluates expressions
// itself, so that every evaluation is pure, deterministic and bounded, numbers behave alike before
// and after a JSON round trip, and every error has an exact position: byte offsets in the source,
// because the package does not know files.
//
// Differences from the library:
//
//   - Values are plain data, and a missing name or member is null. Arithmetic, order and members of
//     null are errors, == and ?? are not. contains, startsWith, endsWith, matches and in are false
//     for null.
//   - Integers hold 61 bits; overflow, division by zero and results that are not finite are errors.
//     A number without a fraction works as an integer. / always divides exactly, % has the sign of
//     its left operand.
//   - == compares lists and objects deeply. Comparing values that can never be equal is a compile-time
//     error.
//   - Strings are counted, sliced and searched by characters, not bytes.
//   - keys, values, toPairs and groupBy sort by key, sortBy and sort are stable. There are no times,
//     bytes, methods or random values.
//   - True, False, None and null are constants unless a name hides them.
//   - Predicates nest two deep, and each evaluation has a budget of time and memory.
package eval

import (
	"maps"
	"slices"
)

// Scope is the set of names that an expression may read. It is immutable and safe for concurrent
// use.
type Scope struct {
	parent *Scope // looked up for names that are not in names
	names  map[string]Type
	opts   ScopeOptions
}

// ScopeOptions configures how names are found.
type ScopeOptions struct {
	// Roots are names such as "state" that hold the scope's own names as members:
	// state.x is x.
	Roots []string
	// Alias maps additional bare names to paths.
	Alias map[string][]string
	// Open allows unknown top-level names; missing ones are null.
	Open bool
	// Refuse maps a name to the reason why it may not be read here.
	Refuse map[string]string
}

// NewScope builds a scope from names and types. The maps must not change afterwards.
func NewScope(names map[string]Type, opts ScopeOptions) *Scope {
	return &Scope{names: names, opts: opts}
}

// With returns a scope with other types for some names, and with more aliases. The map of
// names must not change afterwards.
func (s *Scope) With(names map[string]Type, alias map[string][]string) *Scope {
	out := *s
	out.parent, out.names = s, names
	if len(alias) > 0 {
		out.opts.Alias = maps.Clone(alias)
		maps.Copy(out.opts.Alias, s.opts.Alias)
	}
	return &out
}

// WithRefused returns a scope that refuses to read some names, and says why.
func (s *Scope) WithRefused(reasons map[string]string) *Scope {
	out := *s
	out.opts.Refuse = maps.Clone(reasons)
	maps.Copy(out.opts.Refuse, s.opts.Refuse)
	return &out
}

// WithoutUndeclared returns a scope where undeclared names are errors.
func (s *Scope) WithoutUndeclared() *Scope {
	out := *s
	out.opts.Open = false
	return &out
}

// findType returns the type of a name that the scope declares.
func (s *Scope) findType(name string) (Type, bool) {
	for ; s != nil; s = s.parent {
		if t, ok := s.names[name]; ok {
			return t, true
		}
	}
	return Type{}, false
}

// declaredNames returns the names that the scope declares and more, sorted.
func (s *Scope) declaredNames(more ...string) []string {
	for ; s != nil; s = s.parent {
		more = slices.AppendSeq(more, maps.Keys(s.names))
	}
	slices.Sort(more)
	return slices.Compact(more)
}

// knownNames returns all bare names that an expression may use, for suggestions.
func (s *Scope) knownNames() []string {
	return s.declaredNames(slices.AppendSeq(slices.Clone(s.opts.Roots), maps.Keys(s.opts.Alias))...)
}

// isRoot reports whether name is a root such as state.
func (s *Scope) isRoot(name string) bool { return slices.Contains(s.opts.Roots, name) }

// RetryScope returns the scope of the `when` of a retry block, which holds `error`.
func RetryScope() *Scope {
	return NewScope(map[string]Type{"error": FailureType()}, ScopeOptions{})
}

// FailureType returns the type of `error`.
func FailureType() Type {
	return Object(map[string]Type{"kind": String(), "message": String(), "node": String(), "attempt": Int(), "details": Object(map[string]Type{"exit_code": Int()}, true)}, false)
}

// ApprovalScope returns the scope of a tool's `approve`: args and state.
func ApprovalScope() *Scope {
	return NewScope(map[string]Type{"args": Object(nil, true), "state": Object(nil, true)}, ScopeOptions{})
}
