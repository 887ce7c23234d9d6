// Package lazyregexp compiles regular expressions when they are first used: compiling all of
// them at the start would take longer than `graphrun version`.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns a function that compiles expr once and returns it. It panics if expr is invalid.
func New(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
