//go:build !race

package sqlite_test

const slowdown = 1
