// The schemas of a file, compiled where they stand.

package bind

import (
	"errors"

	"github.com/graphrun/graphrun/internal/schema"
	"github.com/graphrun/graphrun/spec"
)

// compileSchema compiles a document and reports its first error at the keyword in source, unless Parse
// has reported one. With an error it returns nil, which accepts everything.
func (b *binder) compileSchema(doc map[string]any, source *spec.Value, what string) *schema.Schema {
	compiled, err := schema.Compile(doc)
	var fault *schema.Error
	if !errors.As(err, &fault) {
		return compiled
	}
	if !b.graph.Faulty(source.Span) {
		b.addFinding("invalid-value", source.PartAt(fault.Path).Span, what+": "+err.Error())
	}
	return nil
}

// checkSummaries checks the schema of the summaries of a conversation.
func (b *binder) checkSummaries(conversation *spec.Value) {
	if source := spec.SummarySchema(conversation); source != nil {
		if doc, ok := source.Data().(map[string]any); ok {
			b.compileSchema(doc, source, "schema of summaries")
		}
	}
}
