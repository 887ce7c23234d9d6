// What few nodes have: a graph may have so many that their size counts.

package bind

import "github.com/graphrun/graphrun/eval"

// Rare is what few nodes have. Those that have nothing of it share one: it is read-only.
type Rare struct {
	Before []Field
	Emit   []Field
	Goto   *eval.Program
	Each   *eval.Program
	// CacheKey is the expression of the node's own cache key.
	CacheKey *eval.Program
	// RetryWhen holds the condition of each retry block, nil where it has none. It is nil if
	// no block has one.
	RetryWhen []*eval.Program
}

// kept is what a node keeps of its own.
func (b *binder) kept(r *Rare) *Rare {
	if len(r.Before)+len(r.Emit) == 0 && r.Goto == nil && r.Each == nil && r.CacheKey == nil && r.RetryWhen == nil {
		return b.common
	}
	own := *r
	return &own
}
