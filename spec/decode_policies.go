// Policies (GraphSpec §10) of a graph and of the files that it extends. The files are texts of the graph.

package spec

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// policyFile describes a file of policies in findings.
const policyFile = "a file of policies is a list of policies, or a map with the key policies"

// policyForms are the forms of `policies`: an entry or a list of entries.
var (
	policyForms = []Key{policyEntry, {Type: TypeList, Elem: &policyEntry}}
	policyEntry = Key{Type: TypeObject, Keys: policyKeys, Choices: []Choice{{Keys: []string{"extends", "forbid", "max_visits", "never", "reach", "require"}, Required: true}}}
)

// policyFileKeys are the keys of a file of policies that is a map.
var policyFileKeys = []Key{
	{Name: "description", Type: TypeString, Doc: "What the policies are for."},
	{Name: "policies", Type: TypeOneOf, Required: true, Forms: policyForms, Doc: "As in a graph."},
}

// setPolicyRule changes the rule of the findings from an index to the end to policy-invalid.
func (d *decoder) setPolicyRule(from int) {
	for i := range d.diags[from:] {
		if found := &d.diags[from+i]; found.Rule == "missing-field" || found.Rule == "invalid-value" {
			found.Rule = "policy-invalid"
		}
	}
}

// addPolicies reads one or more entries. from is the chain of extended files that holds them.
func (d *decoder) addPolicies(v *Value, from []string) {
	for _, item := range v.OneOrAll() {
		isUnknown := func(f Field) bool { return FindKey(policyKeys, f.Key.Value) == nil && !isExtension(f.Key.Value) }
		if item.Kind != Map || slices.ContainsFunc(item.Fields, isUnknown) {
			continue // the unknown key may be a misspelt required one
		}
		before := len(d.diags)
		d.checkPartnerKeys(&item)
		if files := item.Get("extends"); files != nil {
			for _, file := range readTexts(files, true) {
				d.addPolicyFile(file, from)
			}
			continue
		}
		if len(from) > 0 && len(d.diags) == before && d.hasMissingNode(&item) {
			d.graph.Inapplicable = append(d.graph.Inapplicable, item)
		} else {
			d.graph.Policies = append(d.graph.Policies, item)
		}
	}
}

// hasMissingNode reports whether a policy names nodes that the graph does not have.
func (d *decoder) hasMissingNode(item *Value) bool {
	for _, key := range []string{"before", "after", "from", "node", "at", "forbid"} {
		if v := item.Get(key); v != nil && v.Kind == String && v.Text.Value != END && len(d.graph.nodes) > 0 && d.graph.nodes[v.Text.Value] == nil {
			return true
		}
	}
	return false
}

// addPolicyFile reads the policies of a file, unless it has been read before.
func (d *decoder) addPolicyFile(named Text, from []string) {
	where := filepath.ToSlash(named.Value)
	if where != "" {
		if len(from) > 0 && !filepath.IsAbs(named.Value) {
			where = path.Join(path.Dir(from[len(from)-1]), where)
		}
		where = path.Clean(where)
	}
	if i := slices.Index(from, where); i >= 0 {
		d.report("policy-invalid", named.Span, "files of policies extend each other: %s", strings.Join(append(slices.Clone(from[i:]), where), " → "))
		return
	}
	if d.policyFiles[where] {
		return
	}
	d.policyFiles[where] = true
	text, problem := d.addText(where, named.Span)
	if problem != "" {
		d.report("policy-invalid", named.Span, "%s", problem)
		return
	}
	if policies := d.parsePolicyFile(text); policies != nil {
		d.addPolicies(policies, append(slices.Clip(from), where))
	}
}

// parsePolicyFile reads a file of policies as a value of `policies`, or returns nil.
func (d *decoder) parsePolicyFile(file *File) *Value {
	root, found := loadDocument(file, policyFile)
	d.diags = append(d.diags, found...)
	if root == nil {
		return nil
	}
	whole := root.shiftSpans(file)
	switch whole.Kind {
	case Map:
		d.readObject(policyFileKeys, nil, &whole, Text{}, nil)
		return whole.Get("policies")
	case List:
		d.checkValue(&policyForms[1], &whole, subject{key: Text{Value: "policies", Span: whole.Span}}, nil)
		return &whole
	}
	d.report("policy-invalid", whole.Span, "the file holds %s; %s", describeValue(&whole), policyFile)
	return nil
}

// shiftSpans returns a copy of a value of a text, with its spans converted to offsets in the text's host.
func (v *Value) shiftSpans(text *File) Value {
	out := *v
	out.Span = text.InHost(v.Span)
	out.Items, out.Fields = slices.Clone(v.Items), slices.Clone(v.Fields)
	for i := range out.Items {
		out.Items[i] = v.Items[i].shiftSpans(text)
	}
	for i := range out.Fields {
		f := &out.Fields[i]
		f.Key.Span, f.Value = text.InHost(f.Key.Span), f.Value.shiftSpans(text)
	}
	return out
}

// checkPartnerKeys reports the first key of a policy that lacks the key that it needs.
func (d *decoder) checkPartnerKeys(item *Value) {
	for i := range policyKeys {
		if k := &policyKeys[i]; k.Needs != "" && item.Get(k.Name) != nil && item.Get(k.Needs) == nil {
			d.reportMissing(item, Text{}, fmt.Sprintf("the key %q that belongs to %q", k.Needs, k.Name))
			return
		}
	}
}
