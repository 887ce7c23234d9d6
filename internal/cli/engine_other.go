//go:build !unix

package cli

func (a *app) becomeProgram(path string) error { return a.runChild(path) }
