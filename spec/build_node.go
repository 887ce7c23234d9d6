// Builds the nodes.

package spec

import "slices"

// nodes reads the nodes in file order.
func (b *builder) nodes(v *Value) {
	g := b.graph
	if v.Kind != Map {
		g.gaps |= gapNodes
		return
	}
	g.Nodes = make([]*Node, 0, len(v.Fields))
	g.nodes = make(map[string]*Node, len(v.Fields))
	room := make([]Node, len(v.Fields))
	b.nodeRare = &NodeRare{}
	for i := range v.Fields {
		f := &v.Fields[i]
		if isExtension(f.Key.Value) {
			continue
		}
		if isReserved(f.Key.Value) {
			b.report("reserved-name", f.Key.At(0, len(f.Key.Value)), "%q can't be the name of a node: it stands for an end of the graph", f.Key.Value)
		}
		n := &room[len(g.Nodes)]
		b.node(n, f)
		n.Index = len(g.Nodes)
		g.Nodes = append(g.Nodes, n)
		g.nodes[n.ID.Value] = n
	}
}

// node reads one node: the keys of every node into fields, the rest, its
// kind's keys, into Fields.
func (b *builder) node(n *Node, f *Field) {
	n.ID, n.Span, n.OnMaxVisits, n.Routing, n.NodeRare = f.Key, f.Value.Span, "fail", "first", b.nodeRare
	if f.Value.Kind != Map {
		n.unsure = true
		return
	}
	all := f.Value.Fields
	n.written = all
	for i := range all {
		f := &all[i]
		v := &f.Value
		switch f.Key.Value {
		case "kind":
			n.Kind = textOf(v)
		case "description":
			b.own(n).Description = textOf(v)
		case "reads":
			r := b.own(n)
			r.Reads, r.HasReads = namesOf(v), true
		case "writes":
			n.Writes = writesOf(v)
			b.once(n.Writes.Keys)
		case "retry":
			n.Retry = b.retry(v)
		case "timeout":
			n.Timeout = durationOf(v)
		case "max_visits":
			n.MaxVisits = intOf(v)
		case "on_max_visits":
			n.OnMaxVisits = textOf(v).Value
		case "queue":
			b.own(n).Queue = textOf(v)
		case "cache":
			b.own(n).Cache = cacheOf(v)
		default:
			if !b.routing(n, f) && !isExtension(f.Key.Value) {
				n.Fields = follow(n.Fields, all, i)
			}
		}
	}
	n.unsure = n.unsure || findKind(b.kinds, n.Kind.Value) == nil
}

// own is what only this node says.
func (b *builder) own(n *Node) *NodeRare {
	if n.NodeRare == b.nodeRare {
		n.NodeRare = &NodeRare{}
	}
	return n.NodeRare
}

// follow adds the entry at i of a map to a list of such entries. As long as they
// stand side by side in the map, the list is a part of it.
func follow(list, all []Field, i int) []Field {
	n := len(list)
	switch {
	case n == 0:
		return all[i : i+1 : i+1]
	case n <= i && &list[0] == &all[i-n]:
		return all[i-n : i+1 : i+1]
	}
	return append(list, all[i])
}

// routing reads the common keys about the node's place in the graph and its
// data; false for a key of the kind.
func (b *builder) routing(n *Node, f *Field) bool {
	v := &f.Value
	switch f.Key.Value {
	case "routing":
		n.Routing = textOf(v).Value
	case "goto":
		b.own(n).Goto = textOf(v)
	case "ends":
		r := b.own(n)
		r.Ends, r.HasEnds = endsOf(v), true
		n.unsure = n.unsure || len(r.Ends) < max(len(v.Fields), len(v.Items)) || v.IsScalar()
	case "join":
		n.Join = joinOf(v)
	case "decide":
		b.own(n).Decide = &Decide{See: namesOf(v.Get("see")), Instructions: textOf(v.Get("instructions"))}
	case "each":
		b.own(n).Each = textOf(v)
	case "max_concurrency":
		r := b.own(n)
		r.MaxConcurrency, r.MaxConcurrencySpan = intOf(v), f.Key.Span
	case "parallel":
		n.Parallel = &Parallel{}
		b.parallel(v, n.Parallel)
	case "feedback":
		if v.Kind == Bool {
			b.own(n).Feedback = new(boolOf(v, false))
		}
	case "conversation":
		b.own(n).Conversation = v
	case "before":
		b.own(n).Before = exprsOf(v)
	case "emit":
		b.own(n).Emit = exprsOf(v)
	case "output":
		if v.Kind == Map {
			n.Output, _ = v.Data().(map[string]any)
		}
		n.OutputSource = v
	default:
		return false
	}
	return true
}

func writesOf(v *Value) Writes {
	w := Writes{Span: v.Span}
	if v.Kind == Map {
		w.Exprs = exprsOf(v)
	} else {
		w.Keys = namesOf(v)
	}
	return w
}

// once reports names that a node's list of writes repeats.
func (b *builder) once(keys []Text) {
	for i, key := range keys {
		if slices.ContainsFunc(keys[:i], func(k Text) bool { return k.Value == key.Value }) {
			b.report("invalid-value", key.At(0, len(key.Value)), "%q is listed twice; a node writes a key once", key.Value)
		}
	}
}

// endsOf reads both forms of ends; in a list the node is its own label.
func endsOf(v *Value) []End {
	var out []End
	for i := range v.Fields {
		if target := &v.Fields[i].Value; target.Kind == String {
			out = append(out, End{Label: v.Fields[i].Key, Target: target.Text})
		}
	}
	for _, t := range namesOf(v) {
		out = append(out, End{Label: t, Target: t})
	}
	return out
}

func joinOf(v *Value) *Join {
	j := &Join{Span: v.Span}
	switch wait := v.Get("wait"); {
	case wait == nil:
	case wait.Kind == Int:
		j.Wait, j.Count = "N", intOf(wait)
	default:
		j.Wait = textOf(wait).Value
	}
	j.OnBypass = textOf(v.Get("on_bypass"))
	return j
}
