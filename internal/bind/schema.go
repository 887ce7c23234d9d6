// The schemas of a file, compiled where they stand.

package bind

import (
	"errors"
	"strconv"

	"github.com/graphrun/graphrun/internal/schema"
	"github.com/graphrun/graphrun/spec"
)

// schema compiles the document that source is written as and reports what is
// wrong with it at the keyword, unless Parse has done so. The result accepts
// everything then.
func (b *binder) schema(doc map[string]any, source *spec.Value, what string) *schema.Schema {
	compiled, err := schema.Compile(doc)
	if err == nil {
		return compiled
	}
	var fault *schema.Error
	if at := source.Span; errors.As(err, &fault) && !b.graph.Faulty(at) {
		b.add("invalid-value", placeIn(source, fault.Path), what+": "+err.Error())
	}
	return nil
}

// placeIn is the span of what a path of keys and indexes leads to, as far as
// it can be followed.
func placeIn(v *spec.Value, path []string) spec.Span {
	for _, step := range path {
		next := v.Get(step)
		if i, err := strconv.Atoi(step); err == nil && v.Kind == spec.List && i < len(v.Items) {
			next = &v.Items[i]
		}
		if next == nil {
			break
		}
		v = next
	}
	return v.Span
}
