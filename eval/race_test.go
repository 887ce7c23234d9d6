//go:build race

package eval

// slowdown allows for the race detector in time limits.
const slowdown = 15
