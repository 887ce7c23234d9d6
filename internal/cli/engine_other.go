//go:build !unix

package cli

// becomeProgram runs another program and exits with its code.
func (a *app) becomeProgram(path string) error { return a.asChild(path) }
