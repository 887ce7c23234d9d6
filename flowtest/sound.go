// The valid parts of a file with findings about its shape.

package flowtest

import (
	"slices"

	"github.com/graphrun/graphrun/spec"
)

// sound returns a value without its invalid parts, so that the rest can be checked.
func sound(v *spec.Value, found spec.Diagnostics) *spec.Value {
	keys, values := map[int]bool{}, map[int]bool{}
	for i := range found {
		switch d := &found[i]; {
		case d.Severity != spec.Error || d.Rule == "missing-field":
		case d.Rule == "unknown-key":
			keys[d.Span.From] = true
		default:
			keys[d.Span.From], values[d.Span.From] = true, true
		}
	}
	if len(keys) == 0 {
		return v
	}
	var clean func(v *spec.Value) spec.Value
	clean = func(v *spec.Value) spec.Value {
		out := *v
		out.Fields, out.Items = nil, nil
		for i := range v.Fields {
			field := v.Fields[i]
			if !keys[field.Key.Span.From] && !values[field.Value.Span.From] {
				field.Value = clean(&field.Value)
				out.Fields = append(out.Fields, field)
			}
		}
		for i := range v.Items {
			if !values[v.Items[i].Span.From] {
				out.Items = append(out.Items, clean(&v.Items[i]))
			}
		}
		return out
	}
	out := clean(v)
	return &out
}

// misshapen reports whether a finding about the file's shape may concern a case.
func (f *File) misshapen(c *Case) bool {
	return slices.ContainsFunc(f.shape, func(d spec.Diagnostic) bool {
		in := func(at spec.Span) bool { return at.From <= d.Span.From && d.Span.From < at.To }
		return in(c.own.Span) || f.defaults != nil && in(f.defaults.Span)
	})
}
