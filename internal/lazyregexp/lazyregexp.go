// Package lazyregexp compiles regular expressions when they are first used: compiling all of
// them at the start would take longer than `graphrun version`.
package lazyregexp

import (
	"regexp"
	"sync"
)

// Regexp is a regular expression that is compiled once, when it is first needed.
type Regexp struct {
	expr string
	once sync.Once
	re   *regexp.Regexp
}

// New returns a Regexp that the compiler can lay out as data, so that the variables of a package
// need no code at the start of the program.
func New(expr string) *Regexp { return &Regexp{expr: expr} }

// Get returns the compiled expression. It panics if the expression is invalid.
func (r *Regexp) Get() *regexp.Regexp {
	r.once.Do(func() { r.re = regexp.MustCompile(r.expr) })
	return r.re
}
