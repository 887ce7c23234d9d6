// Whether what a node writes has the type of the key that takes it.

package bind

import (
	"strconv"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/spec"
)

// fits reports an expression whose type the key that it writes can't hold.
func (b *binder) fits(name string, value *Value, span spec.Span) {
	key := b.graph.Key(name)
	if key == nil || key.Reducer.IsSet() && key.Reducer.Value != "replace" {
		return
	}
	if value.program == nil && value.template == nil {
		return
	}
	b.holds(key, value.typ(), span, "the value")
}

// holds reports a value of a type that a key can't hold.
func (b *binder) holds(key *spec.StateKey, have eval.Type, span spec.Span, what string) {
	if want := eval.FromSchema(key.Schema); !want.Accepts(have) {
		b.add("type-mismatch", span, what+" is "+withArticle(have.String())+", but state key "+strconv.Quote(key.Name.Value)+
			" holds "+withArticle(want.String()))
	}
}

// fitsOutput checks the keys of a list of writes against what the node yields:
// each key is a member of the output, and a single one may be all of it.
func (b *binder) fitsOutput(node *spec.Node) {
	keys := node.Writes.Keys
	have, shape := outputType(b.graph, node)
	if len(keys) == 0 || shape == "" || have.IsAny() {
		return
	}
	for _, text := range keys {
		key := b.graph.Key(text.Value)
		if key == nil || key.Reducer.IsSet() && key.Reducer.Value != "replace" {
			continue
		}
		member, known, allowed := have.Field(text.Value)
		switch {
		case known:
			b.holds(key, member, text.Span, "the member of the output")
		case have.IsObject() && allowed:
		case len(keys) == 1:
			b.holds(key, have, text.Span, "the output")
		case have.IsObject():
			b.add("type-mismatch", text.Span, "the output of "+strconv.Quote(node.ID.Value)+" has no member "+strconv.Quote(text.Value))
		default:
			b.add("type-mismatch", text.Span, "the output is "+withArticle(have.String())+", which has no member "+strconv.Quote(text.Value)+
				"; a list of several keys needs an object")
			return
		}
	}
}
