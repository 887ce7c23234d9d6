// The names that nodes and state keys may have.

package spec

import (
	"slices"

	"github.com/graphrun/graphrun/internal/lazyregexp"
)

// The names of nodes, and the names of state keys, which expressions can hold.
const (
	idPattern         = `^[A-Za-z][A-Za-z0-9_-]*$`
	identifierPattern = `^[A-Za-z_][A-Za-z0-9_]*$`
)

var (
	idText         = lazyregexp.New(idPattern)
	identifierText = lazyregexp.New(identifierPattern)
)

func isID(name string) bool { return idText().MatchString(name) }

func isIdentifier(name string) bool { return identifierText().MatchString(name) }

// isReserved reports whether a name means an end of the graph.
func isReserved(name string) bool {
	return name == END || name == "START" || name == "__start__" || name == "__end__"
}

// reservedStateKeys are the names that expressions define, sorted.
var reservedStateKeys = []string{
	"branches", "error", "goal", "history", "index", "input", "inputs", "item", "last", "node", "nodes",
	"outcome", "output", "run", "secrets", "state", "step", "visits",
}

// expressionKeywords are the words that can't be names in expressions, sorted.
var expressionKeywords = []string{
	"False", "None", "True", "and", "contains", "else", "endsWith", "false", "if", "in", "let", "matches", "nil",
	"not", "or", "startsWith", "true",
}

// reservedReason returns why a name can't be a state key, or "".
func reservedReason(name string) string {
	switch {
	case slices.Contains(reservedStateKeys, name):
		return "expressions have a name of their own"
	case slices.Contains(expressionKeywords, name):
		return "it is a word of the expression language"
	}
	return ""
}
