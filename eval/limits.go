// Bounds on what an expression may be and may cost.

package eval

const (
	maxSource     = 4 << 10 // bytes of one expression
	maxNesting    = 64      // brackets, prefix operators and branches inside each other
	maxNodes      = 500     // syntax nodes of one expression
	maxPredicates = 2       // any, filter, map and the like inside each other

	// budget bounds the units of one evaluation, which ends or fails within a tenth of a second.
	// An operation inside a predicate (some 20 ns) or a list element costs about one unit, 4 bytes
	// of a new string cost one, so that all new strings stay below 16 MB.
	budget = 4_000_000

	bytesBuilt    = 4         // bytes of new text that cost one unit
	bytesRead     = 32        // bytes of text looked through that cost one unit
	costCall      = 6         // extra units of a call, which needs an argument list
	costList      = 4         // extra units of a list literal
	costObject    = 20        // extra units of an object literal, which is a map
	maxElements   = 1_000_000 // of a list that a function builds
	maxRegexpSize = 1000
	maxResultSize = 64 << 20 // bytes of a result, counted as a tree
	maxRendered   = 64 << 20 // bytes of a rendered template
)
