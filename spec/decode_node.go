// Decoding nodes: the keys of every node and of its kind.

package spec

import (
	"fmt"
	"slices"

	"github.com/graphrun/graphrun/internal/suggest"
)

// mergeKinds returns the built-in kinds, and those of more that have other names.
func mergeKinds(more []Kind) []Kind {
	kinds := slices.Clip(BuiltinKinds)
	for _, k := range more {
		if findKind(kinds, k.Name) == nil {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

func findKind(kinds []Kind, name string) *Kind {
	return find(kinds, func(k *Kind) bool { return k.Name == name })
}

func listKindNames(kinds []Kind) []string {
	return collectNames(kinds, func(k Kind) string { return k.Name })
}

// readNode reads a node. If its kind is unknown, readNode reads only the keys that every node may have.
func (d *decoder) readNode(n *Node, v *Value, id Text) {
	kind := d.findKindOf(v, id)
	for i := range v.Fields {
		f := &v.Fields[i]
		k := FindKey(NodeKeys, f.Key.Value)
		if f.Key.Value == "kind" || isExtension(f.Key.Value) {
			continue
		}
		if k == nil && kind != nil {
			if k = FindKey(kind.Keys, f.Key.Value); k == nil {
				k = d.repairKeyOfNode(n, v, f, kind)
			}
		}
		if k != nil {
			d.readField(k, f, n)
		}
		if FindKey(NodeKeys, f.Key.Value) == nil {
			n.Fields = append(n.Fields, *f)
		}
	}
	n.written, n.HasReads, n.HasEnds = v.Fields, v.Get("reads") != nil, v.Get("ends") != nil
	n.Kind = v.Get("kind").Scalar()
	n.hasUnknownExits = findKind(d.kinds, n.Kind.Value) == nil
	if ends := v.Get("ends"); ends != nil {
		n.hasUnknownExits = n.hasUnknownExits || ends.IsScalar() || len(n.Ends) < max(len(ends.Fields), len(ends.Items))
	}
	if n.Join != nil && n.Join.Count > 0 {
		n.Join.Wait = "N"
	}
	d.reportRepeated(n.Writes.Keys, "a node writes a key once")
	d.checkRetries(n.Retry)
	if kind == nil {
		return
	}
	d.checkKeys(kind.Keys, kind.Choices, v, id, " of the kind "+kind.Name)
	if retry := findField(v.Fields, "retry"); kind.Name == "agent" && retry != nil {
		d.report("retry-on-agent", retry.Key.Span, "an agent node can't have \"retry\": it retries inside, by its judge")
	}
}

// findKindOf returns the kind of a node. It reports a missing or unknown kind and returns nil.
func (d *decoder) findKindOf(v *Value, id Text) (kind *Kind) {
	named := v.Get("kind")
	for i := range v.Fields {
		f := &v.Fields[i]
		if named == nil && FindKey(NodeKeys, f.Key.Value) == nil && findNearest(f.Key.Value, []string{"kind"}) != "" {
			d.repairKey(v, f, []Key{{Name: "kind"}}, nil)
			named = &f.Value
		}
	}
	if named != nil && named.Kind == String {
		if kind = findKind(d.kinds, named.Text.Value); kind != nil {
			return kind
		}
	}
	k := Key{Type: TypeEnum, Enum: listKindNames(d.kinds)}
	switch {
	case named == nil:
		d.reportMissing(v, id, "the key \"kind\"; kinds are "+listNames(k.Enum))
	case named.Kind != String:
		d.reportMismatch(&k, named, subject{Text{Value: "kind", Span: named.Span}, false})
	default:
		d.checkEnum(&k, k.Enum, named, subject{Text{Value: "kind"}, false})
		if advice := findAdvice(kindAdvice, named.Text.Value); advice != "" {
			last := &d.diags[len(d.diags)-1]
			last.Message, last.Suggestion = fmt.Sprintf("there is no kind %q; %s", named.Text.Value, advice), ""
		}
	}
	return nil
}

// repairKeyOfNode works like repairKey for a key of a node, and names the kinds that have the key.
func (d *decoder) repairKeyOfNode(n *Node, v *Value, f *Field, kind *Kind) *Key {
	key := f.Key
	if advice := adviseKey(f, n.ID.Value); advice != "" {
		d.report("unknown-key", key.At(0, len(key.Value)), "unknown key %q in a node; %s", key.Value, advice)
		return nil
	}
	var owners []string
	for _, other := range d.kinds {
		if FindKey(other.Keys, key.Value) != nil {
			owners = append(owners, other.Name)
		}
	}
	keys := slices.Concat([]Key{{Name: "kind"}}, kind.Keys, NodeKeys)
	if len(owners) == 0 || suggest.Closest(key.Value, listKeyNames(keys)) != "" {
		return d.repairKey(v, f, keys, n)
	}
	d.report("unknown-key", key.At(0, len(key.Value)), "unknown key %q in a node of the kind %s; it belongs to the kind %s", key.Value, kind.Name, listNames(owners))
	return nil
}

// checkRetries reports retry blocks that never apply, because an earlier block applies first.
func (d *decoder) checkRetries(blocks []Retry) {
	for i := range blocks {
		r, before := &blocks[i], blocks[:i]
		if slices.ContainsFunc(before, func(b Retry) bool { return len(b.On) == 0 && !b.When.IsSet() }) {
			d.report("invalid-value", r.Span, "this block is never tried: the one before it has no \"on\" and takes every kind")
			continue
		}
		for _, kind := range r.On {
			if slices.ContainsFunc(before, func(b Retry) bool { return b.AppliesTo(kind.Value) && !b.When.IsSet() }) {
				d.report("invalid-value", kind.At(0, len(kind.Value)), "%q stands in an earlier block, which takes it", kind.Value)
			}
		}
	}
}
