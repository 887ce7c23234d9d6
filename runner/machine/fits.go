// Outputs that are data or text.

package machine

import "github.com/graphrun/graphrun/eval"

// WantsText returns a function that reports whether an exec node should read its output as text,
// because only the text fits what the node writes. It is nil if data always fits. Any goroutine
// may call the function.
func (p *Plan) WantsText(node string) func(data any, text string) bool {
	decl := p.Graph.Node(node)
	if decl == nil || decl.Kind.Value != "exec" {
		return nil
	}
	n := &p.nodes[decl.Index]
	if !n.bound.TextOnly && n.schema == nil && len(n.writeKeys) == 0 {
		return nil
	}
	return func(data any, text string) bool {
		if n.bound.TextOnly {
			_, isObject := data.(map[string]any)
			return !isObject || len(n.writeKeys) == 0 || !p.fitsSchemas(n, data)
		}
		return !p.fitsSchemas(n, data) && p.fitsSchemas(n, text)
	}
}

// fitsSchemas reports whether the schemas allow an output and its writes.
func (p *Plan) fitsSchemas(n *node, output any) bool {
	if n.schema != nil {
		var err error
		if output, err = n.schema.Accept(output); err != nil {
			return false
		}
	}
	if n.bound.Each != nil {
		output = []any{output}
	}
	object, _ := output.(map[string]any)
	for _, i := range n.writeKeys {
		k := &p.keys[i]
		value, has := object[k.name]
		if !has {
			if len(n.writeKeys) > 1 {
				return false
			}
			value = output
		}
		if !k.acceptsUpdate(value) {
			return false
		}
	}
	return true
}

// acceptsUpdate reports whether a key's schema allows an update, whatever the current value.
func (k *key) acceptsUpdate(update any) bool {
	switch k.reducer {
	case reduceReplace, reduceMin, reduceMax:
		_, err := k.schema.Accept(update)
		return err == nil
	case reduceAppend, reducePrepend, reduceUnion:
		items, isList := k.schema.Normalise(asList(update)).([]any)
		return isList && k.schema.CheckAppended(items, 0) == nil
	case reduceSum:
		_, isNumber := eval.Number(update)
		return isNumber
	case reduceMerge:
		_, isObject := update.(map[string]any)
		return isObject
	}
	return true
}
