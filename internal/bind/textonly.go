// Programs whose output must be text: parse auto does not convert it (GraphSpec §4).

package bind

import (
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/spec"
)

// acceptsOnlyText reports whether only text fits the output of an exec node, by its output schema,
// the schema of its only key, or the expressions of its writes.
func (b *binder) acceptsOnlyText(node *spec.Node) bool {
	var takes func(output eval.Type) bool
	switch keys := node.Writes.Keys; {
	case node.Kind.Value != "exec":
		return false
	case node.Output != nil:
		takes = eval.FromSchema(node.Output).Accepts
	case len(node.Writes.Exprs) > 0:
		takes = func(output eval.Type) bool { return b.acceptsOutput(node, output) }
	case len(keys) == 1 && b.graph.Key(keys[0].Value) != nil:
		whole := b.keyType(b.graph.Key(keys[0].Value))
		if node.Each.IsSet() { // the key takes the list of the elements' outputs
			if !whole.IsList() {
				return false
			}
			whole = whole.Elem()
		}
		takes = whole.Accepts
	default:
		return false
	}
	otherData := []eval.Type{eval.Bool(), eval.Int(), eval.Float(), eval.List(eval.Any()), eval.Object(nil, true)}
	return takes(eval.String()) && !slices.ContainsFunc(otherData, takes)
}

// acceptsOutput reports whether the writes of a node allow an output of a type.
func (b *binder) acceptsOutput(node *spec.Node, output eval.Type) bool {
	if node.Each.IsSet() {
		output = eval.List(output)
	}
	scope := b.scopes.scopeAt(afterRun).With(map[string]eval.Type{"output": output}, nil)
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
