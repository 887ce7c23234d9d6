// Programs whose output is written where only text fits: parse auto reads
// nothing else into it (GraphSpec §4).

package bind

import (
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/spec"
)

// isText reports whether a type holds text and nothing else.
func isText(t eval.Type) bool {
	return t.Accepts(eval.String()) && !slices.ContainsFunc(otherData(), t.Accepts)
}

// otherData are the types of what JSON can say besides text.
func otherData() []eval.Type {
	return []eval.Type{eval.Bool(), eval.Int(), eval.Float(), eval.List(eval.Any()), eval.Object(nil, true)}
}

// textOnly reports whether only text fits what an exec node yields: by the
// schema of its output, by that of the single key that takes it whole, or
// because the expressions of its writes take no other output.
func (b *binder) textOnly(node *spec.Node) bool {
	switch {
	case node.Kind.Value != "exec":
		return false
	case node.Output != nil:
		return isText(eval.FromSchema(node.Output))
	case len(node.Writes.Exprs) > 0:
		return b.writesTake(node, eval.String()) &&
			!slices.ContainsFunc(otherData(), func(t eval.Type) bool { return b.writesTake(node, t) })
	case len(node.Writes.Keys) != 1:
		return false
	}
	key := b.graph.Key(node.Writes.Keys[0].Value)
	if key == nil {
		return false
	}
	whole := b.keyType(key)
	if node.Each.IsSet() { // the key takes the list of the elements' outputs
		return whole.IsList() && isText(whole.Elem())
	}
	return isText(whole)
}

// writesTake reports whether the expressions of a node's writes take an output
// of a type, as far as types tell.
func (b *binder) writesTake(node *spec.Node, output eval.Type) bool {
	if node.Each.IsSet() {
		output = eval.List(output)
	}
	scope := b.scopes.at(afterRun).With(map[string]eval.Type{"output": output}, nil)
	for _, e := range node.Writes.Exprs {
		program, err := scope.Compile(e.Expr.Value, eval.Value)
		if err != nil {
			return false
		}
		if key := b.graph.Key(e.Name.Value); key != nil && !key.Reducer.IsSet() && !b.keyType(key).Accepts(program.Type()) {
			return false
		}
	}
	return true
}
