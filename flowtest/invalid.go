// The valid parts of a file with findings about its shape.

package flowtest

import (
	"slices"

	"github.com/graphrun/graphrun/spec"
)

// dropInvalid removes the parts of a value that findings are about, so that the rest can be
// checked.
func dropInvalid(v *spec.Value, found spec.Diagnostics) {
	isBad := func(at spec.Span, isKey bool) bool {
		return slices.ContainsFunc(found, func(d spec.Diagnostic) bool {
			return d.Span.From == at.From && d.Rule != "missing-field" && (isKey || d.Rule != "unknown-key")
		})
	}
	v.Fields = slices.DeleteFunc(v.Fields, func(f spec.Field) bool { return isBad(f.Key.Span, true) || isBad(f.Value.Span, false) })
	v.Items = slices.DeleteFunc(v.Items, func(item spec.Value) bool { return isBad(item.Span, false) })
	for i := range v.Fields {
		dropInvalid(&v.Fields[i].Value, found)
	}
	for i := range v.Items {
		dropInvalid(&v.Items[i], found)
	}
}

// misshapen reports whether a finding about the file's shape may concern a case.
func (f *File) misshapen(c *Case) bool {
	return slices.ContainsFunc(f.shape, func(d spec.Diagnostic) bool {
		in := func(at spec.Span) bool { return at.From <= d.Span.From && d.Span.From < at.To }
		return in(c.own.Span) || f.defaults != nil && in(f.defaults.Span)
	})
}
