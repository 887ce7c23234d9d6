// Package archtest holds the rules of the code base as tests: who may import
// whom, what the core may not do, and how big a file may be.
//
// Each rule is a function from sources to findings, so that its own test can
// give it a bad source and see it object.
package archtest
