// Policies (GraphSpec §10): those of the graph itself and those that it shares with
// other graphs, which stand in files of their own: `policies: {extends: path}`. Such
// a file is one of the graph's texts, so that its findings stand in it and a run
// keeps it with its graph.

package spec

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// policyFile says what a file of policies is, in findings.
const policyFile = "a file of policies is a list of policies, or a map with the key policies"

// policyForms are the shapes of `policies`: an entry or a list of them.
var policyForms = oneOrMany(Key{Type: TypeObject, Keys: policyKeys, Choices: []Choice{{Keys: []string{"extends", "forbid", "max_visits", "never", "reach", "require"}, Required: true}}})

// policyFileKeys are the keys of a file of policies that is a map.
var policyFileKeys = []Key{
	{Name: "description", Type: TypeString, Doc: "What the policies are for."},
	{Name: "policies", Type: TypeOneOf, Required: true, Forms: policyForms, Doc: "As in a graph."},
}

// policies keeps the policies and reports those that lack their second half. What
// is wrong with the shape of one belongs to the rule about policies.
func (d *decoder) policies(v *Value) {
	if v == nil {
		return
	}
	x := &extension{decoder: d, taken: map[string]bool{}}
	x.entries(v, nil)
	for i := range d.diags {
		found := &d.diags[i]
		if (found.Rule == "missing-field" || found.Rule == "invalid-value") && slices.ContainsFunc(x.within, func(s Span) bool { return s.From <= found.Span.From && found.Span.To <= s.To }) {
			found.Rule = "policy-invalid"
		}
	}
}

// extension takes in the policies of a graph, file by file.
type extension struct {
	*decoder
	// taken are the files that have been, by path: one that is named twice counts once.
	taken map[string]bool
	// within is where policies stand: the graph's own, and those of each file.
	within []Span
}

// entries takes in policies: an entry, or a list of them. From are the paths of the
// files that they stand in, outermost first, relative to the graph's folder; none for
// the graph's own.
func (x *extension) entries(v *Value, from []string) {
	x.within = append(x.within, v.Span)
	items := v.Items
	if v.Kind == Map {
		items = []Value{*v}
	}
	for i := range items {
		item := &items[i]
		if item.Kind != Map {
			continue
		}
		if slices.ContainsFunc(item.Fields, func(f Field) bool {
			return findKey(policyKeys, f.Key.Value) == nil && !isExtension(f.Key.Value)
		}) {
			continue // an unknown key may be the one that would be missed
		}
		if other := item.Get("extends"); other != nil {
			x.extends(item, other, from)
			continue
		}
		before := len(x.diags)
		x.policyHalves(item)
		if len(from) > 0 && len(x.diags) == before && x.isElsewhere(item) {
			x.graph.Elsewhere = append(x.graph.Elsewhere, *item)
			continue
		}
		x.graph.Policies = append(x.graph.Policies, *item)
	}
}

// isElsewhere reports whether a shared policy is about what other graphs have: the
// place where it holds is no node of this one, nor is what it forbids.
func (x *extension) isElsewhere(item *Value) bool {
	if x.graph.gaps&gapNodes != 0 {
		return false
	}
	for _, key := range []string{"before", "after", "from", "node", "at", "forbid"} {
		if v := item.Get(key); v != nil && v.Kind == String && v.Text.Value != END && x.graph.nodes[v.Text.Value] == nil {
			return true
		}
	}
	return false
}

// extends takes in the files that an entry names, which says nothing else.
func (x *extension) extends(item, v *Value, from []string) {
	for i := range item.Fields {
		if key := item.Fields[i].Key; key.Value != "extends" && key.Value != "description" && !isExtension(key.Value) {
			x.report("invalid-value", key.Span, "\"extends\" stands alone; found %q beside it, which belongs into an entry of its own", key.Value)
		}
	}
	names := v.Items
	if v.Kind != List {
		names = []Value{*v}
	}
	for i := range names {
		if names[i].Kind == String {
			x.file(names[i].Text, from)
		}
	}
}

// file takes in the policies of a file, once.
func (x *extension) file(named Text, from []string) {
	where := filepath.ToSlash(named.Value)
	if len(from) > 0 && !filepath.IsAbs(named.Value) && where != "" {
		where = path.Join(path.Dir(from[len(from)-1]), where)
	}
	if where != "" {
		where = path.Clean(where)
	}
	if i := slices.Index(from, where); i >= 0 {
		x.report("policy-invalid", named.Span, "files of policies extend each other: %s", strings.Join(append(slices.Clone(from[i:]), where), " → "))
		return
	}
	if x.taken[where] {
		return
	}
	x.taken[where] = true
	name := filepath.FromSlash(where)
	if !filepath.IsAbs(name) && where != "" {
		name = filepath.Join(filepath.Dir(x.decoder.file.Name), name)
	}
	src, problem := x.readText(where, name)
	if problem != "" {
		x.report("policy-invalid", named.Span, "%s", problem)
		return
	}
	if policies := x.parse(x.decoder.file.addText(name, src, named.Span)); policies != nil {
		x.entries(policies, append(slices.Clip(from), where))
	}
}

// parse reads a file of policies, as the value that `policies` has in a graph; nil
// when there is none.
func (x *extension) parse(file *File) *Value {
	root, found := loadAny(file, policyFile)
	for _, d := range found {
		d.File, d.Span = x.decoder.file, file.InHost(d.Span)
		x.diags = append(x.diags, d)
	}
	if root == nil {
		return nil
	}
	whole := root.in(file.base, &scalar{src: file.Src, base: file.base})
	if whole.Kind == Map {
		x.object(policyFileKeys, nil, &whole, Text{}, nil)
		policies := whole.Get("policies")
		if policies == nil {
			x.within = append(x.within, file.InHost(Span{0, len(file.Src)}))
		}
		return policies
	}
	if whole.Kind != List {
		x.report("policy-invalid", whole.Span, "the file holds %s; %s", describe(&whole), policyFile)
		return nil
	}
	x.check(&policyForms[1], &whole, place{key: Text{Value: "policies", Span: whole.Span}}, nil)
	return &whole
}

// in is the value in the offsets of a host's space; what aliases share is copied.
func (v *Value) in(base int, source *scalar) Value {
	out := *v
	out.Text = v.Text.in(base, source)
	out.Items, out.Fields = slices.Clone(v.Items), slices.Clone(v.Fields)
	for i := range out.Items {
		out.Items[i] = v.Items[i].in(base, source)
	}
	for i := range out.Fields {
		out.Fields[i] = Field{Key: v.Fields[i].Key.in(base, source), Value: v.Fields[i].Value.in(base, source)}
	}
	return out
}

func (t Text) in(base int, source *scalar) Text {
	t.Span = Span{t.Span.From + base, t.Span.To + base}
	if t.source != nil {
		t.source = source
	}
	return t
}

// policyData is the policies of a graph as plain data, those of its files with them.
func (g *Graph) policyData() []any {
	out := []any{}
	for _, list := range [][]Value{g.Policies, g.Elsewhere} {
		for i := range list {
			out = append(out, list[i].Data())
		}
	}
	return out
}

// policyHalves reports a policy whose two halves don't belong together.
func (d *decoder) policyHalves(item *Value) {
	partners := [][2]string{{"require", "before"}, {"forbid", "after"}, {"reach", "from"}, {"max_visits", "node"}, {"never", "at"}}
	first, lacks := "", ""
	for _, pair := range partners {
		if item.Get(pair[0]) != nil && item.Get(pair[1]) == nil {
			first, lacks = pair[0], pair[1]
		}
	}
	for _, pair := range partners {
		if item.Get(pair[0]) != nil || item.Get(pair[1]) == nil {
			continue
		}
		if lacks == "" {
			d.missing(item, Text{}, "the key \""+pair[0]+"\" that belongs to \""+pair[1]+"\"")
			return
		}
		for i := range item.Fields {
			if key := item.Fields[i].Key; key.Value == pair[1] {
				d.report("invalid-value", key.Span, "%q goes with %q; found %q", first, lacks, pair[1])
			}
		}
		return
	}
	if lacks != "" {
		d.missing(item, Text{}, "the key \""+lacks+"\" that belongs to \""+first+"\"")
	}
}
