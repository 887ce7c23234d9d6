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

// output is the schema of what a node gives, if it has one.
func (b *binder) output(node *spec.Node) *schema.Schema {
	b.summaries(node.Conversation)
	if node.Output == nil {
		return nil
	}
	return b.schema(node.Output, node.OutputSource, "output schema of node "+strconv.Quote(node.ID.Value))
}

// summaries checks the schema of what a conversation is summarised as.
func (b *binder) summaries(conversation *spec.Value) {
	if source := spec.SummarySchema(conversation); source != nil {
		if doc, ok := source.Data().(map[string]any); ok {
			b.schema(doc, source, "schema of summaries")
		}
	}
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
