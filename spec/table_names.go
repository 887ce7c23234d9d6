// Which names nodes and state keys may have.

package spec

import "slices"

// isID reports whether s is [A-Za-z][A-Za-z0-9_-]*.
func isID(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isLetter(c) && (i == 0 || c != '_' && c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return s != ""
}

// isIdentifier reports whether s is [A-Za-z_][A-Za-z0-9_]*.
func isIdentifier(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isLetter(c) && c != '_' && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// isReserved reports whether a name means an end of the graph.
func isReserved(name string) bool {
	return name == END || name == "START" || name == "__start__" || name == "__end__"
}

// reservedStateKeys are the names that expressions have of their own, sorted.
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
