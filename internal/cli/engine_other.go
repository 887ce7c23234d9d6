//go:build !unix

package cli

// becomeProgram runs another program in the place of this one.
func (a *app) becomeProgram(path string) error { return a.asChild(path) }
