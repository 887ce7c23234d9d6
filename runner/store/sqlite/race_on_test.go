//go:build race

package sqlite_test

// slowdown is by how much less a test tries when the race detector, which makes
// SQLite several times slower, is on.
const slowdown = 4
