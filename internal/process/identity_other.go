//go:build !linux

package process

// Known is false: processes are not told apart.
func Known() bool { return false }

// Place is nothing that is known.
func Place() string { return "" }

// State is nothing that is known.
func State(int) (state, began string) { return "", "" }
