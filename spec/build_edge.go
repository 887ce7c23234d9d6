// Builds the edges and reports what does not go together in one.

package spec

// edges reads the declarations in order and expands their lists.
func (b *builder) edges(v *Value) {
	g := b.graph
	if v == nil {
		return
	}
	if v.Kind != List {
		g.gaps |= gapEdges
		return
	}
	g.Edges = make([]*Edge, 0, len(v.Items)+len(g.Finish))
	room := make([]Edge, len(v.Items)) // more than that only where lists are expanded
	ids := map[string]Text{}
	for i := range v.Items {
		if v.Items[i].Kind != Map {
			g.gaps |= gapEdges
			continue
		}
		d := declaration{edge: &room[i], rare: b.edgeRare}
		d.read(&v.Items[i])
		d.edge.Decl, d.edge.EdgeRare = i, d.rare
		b.conditionOf(&d)
		b.edgeID(d.edge.ID, ids)
		b.expand(&d)
	}
}

// declaration is an entry of the edges list: the edge that the first pair of its
// ends becomes, and the keys that rules speak of.
type declaration struct {
	edge      *Edge
	rare      *EdgeRare // its own, or the one that is shared
	owns      bool
	from, to  *Value
	condition Text
	fallback  Text // the key
	whenKey   Text
}

func (d *declaration) read(v *Value) {
	d.edge.Span = v.Span
	for i := range v.Fields {
		key, v := v.Fields[i].Key, &v.Fields[i].Value
		switch key.Value {
		case "from":
			d.from = v
		case "to":
			d.to = v
		case "condition":
			d.condition = textOf(v)
		case "when":
			d.edge.When, d.whenKey = textOf(v), key
		case "id":
			d.own().ID = textOf(v)
		case "label":
			d.own().Label = textOf(v)
		case "description":
			d.own().Description = textOf(v)
		case "priority":
			d.edge.Priority = intOf(v)
		case "fallback":
			d.edge.Fallback, d.fallback = boolOf(v, false), key
		case "transform":
			d.own().Transform = v
		}
	}
}

// own is what only this declaration says.
func (d *declaration) own() *EdgeRare {
	if !d.owns {
		d.rare, d.owns = &EdgeRare{}, true
	}
	return d.rare
}

// conditionOf fills in the edge's condition and reports keys that it has no use for.
func (b *builder) conditionOf(d *declaration) {
	e := d.edge
	e.Condition = d.condition.Value
	when := d.whenKey.IsSet()
	if e.Condition == "" {
		e.Condition = "on_success"
		if when {
			e.Condition = "conditional"
		}
	}
	switch e.Condition {
	case "conditional":
		if !when {
			b.report("missing-field", d.condition.Span, "a conditional edge lacks the key \"when\"")
		}
	case "always", "on_success", "llm_decide":
		if when {
			b.report("invalid-value", d.whenKey.Span, "\"when\" has no meaning on an edge with the condition %s; allowed on conditional and on_failure", e.Condition)
		}
	}
	if e.Fallback && e.Condition != "llm_decide" && e.Condition != "on_success" {
		b.report("invalid-value", d.fallback.Span, "\"fallback\" has no meaning on an edge with the condition %s; allowed on llm_decide and on_success", e.Condition)
	}
}

func (b *builder) edgeID(id Text, ids map[string]Text) {
	if !id.IsSet() {
		return
	}
	if first, taken := ids[id.Value]; taken {
		b.report("invalid-value", id.Span, "the edge id %q is taken; every id stands once", id.Value)
		b.diags[len(b.diags)-1].Related = []Related{{File: b.file, Span: first.Span, Message: "first here"}}
		return
	}
	ids[id.Value] = id
}

// expand adds an edge for each source and target of a declaration, sources first.
func (b *builder) expand(d *declaration) {
	g := b.graph
	var oneFrom, oneTo [1]Text
	from, to := endsIn(d.from, &oneFrom), endsIn(d.to, &oneTo)
	if len(from) == 0 || len(to) == 0 || d.from.Kind == List && len(from) < len(d.from.Items) || d.to.Kind == List && len(to) < len(d.to.Items) {
		g.gaps |= gapEdges
	}
	for i, source := range from {
		for j, target := range to {
			e := d.edge
			if i+j > 0 {
				e = new(*d.edge)
			}
			e.From, e.To, e.Index = source, target, len(g.Edges)
			g.Edges = append(g.Edges, e)
		}
	}
}

// endsIn is namesOf, with a place for the one name that most edges have.
func endsIn(v *Value, one *[1]Text) []Text {
	if v == nil || v.Kind != String {
		return namesOf(v)
	}
	one[0] = v.Text
	return one[:]
}

// finish adds the edges of the finish list.
func (b *builder) finish() {
	g := b.graph
	for _, f := range g.Finish {
		g.Edges = append(g.Edges, &Edge{
			Index: len(g.Edges), Decl: -1, From: f, To: Text{Value: END, Span: f.Span},
			Condition: "on_success", Span: f.Span, EdgeRare: b.edgeRare,
		})
	}
}
