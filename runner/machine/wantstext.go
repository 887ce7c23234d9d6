// Whether an output is to be taken as data or as text (GraphSpec §4, parse).

package machine

// WantsText returns what the handler of a node asks about an output that can be
// read both ways: where only text fits what is written, it is text. An object
// that holds the key it is written to, with a value that fits, is data all the
// same. Any goroutine may call the function; nil: it is always data.
func (p *Plan) WantsText(node string) func(data any, text string) bool {
	decl := p.Graph.Node(node)
	if decl == nil || decl.Kind.Value != "exec" {
		return nil
	}
	n := &p.nodes[decl.Index]
	if !n.textOnly && n.schema == nil && len(n.writeKeys) == 0 {
		return nil
	}
	return func(data any, text string) bool {
		if n.textOnly {
			_, isObject := data.(map[string]any)
			return !isObject || len(n.writeKeys) == 0 || !p.fits(n, data)
		}
		return !p.fits(n, data) && p.fits(n, text)
	}
}

// fits reports whether the schemas allow an output and what its list of writes
// makes of it.
func (p *Plan) fits(n *node, output any) bool {
	if n.schema != nil {
		output = n.schema.Normalise(output)
		if n.schema.Check(output) != nil {
			return false
		}
	}
	if n.each != nil {
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
		if !k.takes(value) {
			return false
		}
	}
	return true
}

// takes reports whether a key's schema allows an update, as far as that can be
// said without the key's value.
func (k *key) takes(update any) bool {
	switch k.reducer {
	case reduceReplace, reduceMin, reduceMax:
		return k.schema.Check(k.schema.Normalise(update)) == nil
	case reduceAppend, reducePrepend, reduceUnion:
		items, isList := k.schema.Normalise(listOf(update)).([]any)
		return isList && k.schema.CheckAppended(items, 0) == nil
	case reduceSum:
		_, isNumber := number(update)
		return isNumber
	case reduceMerge:
		_, isObject := update.(map[string]any)
		return isObject
	}
	return true
}
