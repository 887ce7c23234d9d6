// Reads nodes: the keys of every node and of its kind.

package spec

import (
	"fmt"
	"slices"

	"github.com/graphrun/graphrun/internal/suggest"
)

// allKinds returns the built-in kinds and more kinds with other names.
func allKinds(more []Kind) []Kind {
	kinds := slices.Clip(BuiltinKinds())
	for _, k := range more {
		if findKind(kinds, k.Name) == nil {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

func findKind(kinds []Kind, name string) *Kind {
	for i := range kinds {
		if kinds[i].Name == name {
			return &kinds[i]
		}
	}
	return nil
}

func kindNames(kinds []Kind) []string {
	names := make([]string, len(kinds))
	for i := range kinds {
		names[i] = kinds[i].Name
	}
	slices.Sort(names)
	return names
}

// readNode reads one node. Without a known kind, it checks only the keys of every node.
func (d *decoder) readNode(n *Node, v *Value, id Text) {
	kind := d.kindOf(v, id)
	for i := range v.Fields {
		f := &v.Fields[i]
		common := FindKey(nodeKeys, f.Key.Value)
		switch {
		case f.Key.Value == "kind" || isExtension(f.Key.Value):
			continue
		case common != nil:
			d.readField(common, f, n)
			continue
		case kind == nil:
		case FindKey(kind.Keys, f.Key.Value) != nil:
			d.readField(FindKey(kind.Keys, f.Key.Value), f, n)
		default:
			d.reportUnknownOfNode(n, v, f, kind)
		}
		if FindKey(nodeKeys, f.Key.Value) == nil { // still, after a repair
			n.Fields = append(n.Fields, *f)
		}
	}
	n.written, n.HasReads, n.HasEnds = v.Fields, v.Get("reads") != nil, v.Get("ends") != nil
	n.Kind = textOf(v.Get("kind"))
	n.unsure = findKind(d.kinds, n.Kind.Value) == nil
	if ends := v.Get("ends"); ends != nil {
		n.unsure = n.unsure || ends.IsScalar() || len(n.Ends) < max(len(ends.Fields), len(ends.Items))
	}
	d.reportRepeats(n.Writes.Keys)
	d.checkRetries(n.Retry)
	if kind == nil {
		return
	}
	d.checkKeys(kind.Keys, kind.Choices, v, id, " of the kind "+kind.Name)
	if retry := findField(v.Fields, "retry"); kind.Name == "agent" && retry != nil {
		d.report("retry-on-agent", retry.Key.Span, "an agent node can't have \"retry\": it retries inside, by its judge")
	}
}

// kindOf finds the kind that a node names and reports a missing or unknown one.
func (d *decoder) kindOf(v *Value, id Text) (kind *Kind) {
	named := v.Get("kind")
	if named == nil {
		named = d.repairKind(v)
	}
	if named != nil && named.Kind == String {
		if kind = findKind(d.kinds, named.Text.Value); kind != nil {
			return kind
		}
	}
	k := Key{Type: TypeEnum, Enum: kindNames(d.kinds)}
	switch {
	case named == nil:
		d.reportMissing(v, id, "the key \"kind\"; kinds are "+oneOf(k.Enum))
	case named.Kind != String:
		d.reportMismatch(&k, named, place{Text{Value: "kind", Span: named.Span}, false})
	default:
		d.checkEnum(&k, k.Enum, named, place{Text{Value: "kind"}, false})
		if say := findAdvice(kindAdvice, named.Text.Value); say != "" {
			last := &d.diags[len(d.diags)-1]
			last.Message, last.Suggestion = fmt.Sprintf("there is no kind %q; %s", named.Text.Value, say), ""
		}
	}
	return nil
}

// repairKind finds and reports a misspelt "kind" in a node without one.
func (d *decoder) repairKind(v *Value) *Value {
	for i := range v.Fields {
		f := &v.Fields[i]
		if FindKey(nodeKeys, f.Key.Value) == nil && nearest(f.Key.Value, []string{"kind"}) != "" {
			d.report("unknown-key", f.Key.At(0, len(f.Key.Value)), "unknown key %q", f.Key.Value)
			d.suggest("kind")
			f.Key = Text{Value: "kind", Span: f.Key.Span}
			return &f.Value
		}
	}
	return nil
}

// reportUnknownOfNode reports an unknown key of a node, and the kinds that have it.
func (d *decoder) reportUnknownOfNode(n *Node, v *Value, f *Field, kind *Kind) {
	key := f.Key
	if advice := adviseKey(f, n.ID.Value); advice != "" {
		d.report("unknown-key", key.At(0, len(key.Value)), "unknown key %q in a node; %s", key.Value, advice)
		return
	}
	var owners []string
	for _, other := range d.kinds {
		if FindKey(other.Keys, key.Value) != nil {
			owners = append(owners, other.Name)
		}
	}
	keys := slices.Concat([]Key{{Name: "kind"}}, kind.Keys, nodeKeys)
	if len(owners) == 0 || suggest.Closest(key.Value, keyNames(keys)) != "" {
		d.reportUnknown(v, f, keys, n)
		return
	}
	d.report("unknown-key", key.At(0, len(key.Value)), "unknown key %q in a node of the kind %s; it belongs to the kind %s", key.Value, kind.Name, oneOf(owners))
}

// reportRepeats reports names that a node's list of writes repeats.
func (d *decoder) reportRepeats(keys []Text) {
	for i, key := range keys {
		if slices.ContainsFunc(keys[:i], func(k Text) bool { return k.Value == key.Value }) {
			d.report("invalid-value", key.At(0, len(key.Value)), "%q is listed twice; a node writes a key once", key.Value)
		}
	}
}

// checkRetries reports blocks of a list that are never tried.
func (d *decoder) checkRetries(blocks []Retry) {
	for i := range blocks {
		r, before := &blocks[i], blocks[:i]
		if slices.ContainsFunc(before, func(b Retry) bool { return len(b.On) == 0 && !b.When.IsSet() }) {
			d.report("invalid-value", r.Span, "this block is never tried: the one before it has no \"on\" and takes every kind")
			continue
		}
		for _, kind := range r.On {
			if slices.ContainsFunc(before, func(b Retry) bool { return b.Takes(kind.Value) && !b.When.IsSet() }) {
				d.report("invalid-value", kind.At(0, len(kind.Value)), "%q stands in an earlier block, which takes it", kind.Value)
			}
		}
	}
}
