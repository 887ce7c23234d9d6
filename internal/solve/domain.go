// Domains of values, and the regions into which conditions cut them.

package solve

import (
	"math"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
)

// Kind is the kind of a value. The zero value is any.
type Kind int

// The kinds of values. Other is for lists, objects and null.
const (
	Any Kind = iota
	Bool
	Int
	Number
	String
	Other
)

// Domain describes the values that something may have.
type Domain struct {
	Kind Kind
	// Values, when not nil, lists all values: nil, bool, int, float64, string.
	Values []any
	// Min and Max bound a number if HasMin and HasMax say so.
	Min, Max       float64
	HasMin, HasMax bool
	// MinLen and MaxLen bound the length of a list, MinLen also of a text; 0 for no bound.
	MinLen, MaxLen int
	// Null says that the value may be null although its kind is another.
	Null bool
	// Why puts a bound into words: "step is at least 4 here".
	Why string
}

// PathName writes a path as an expression does.
func PathName(path []string) string {
	var out strings.Builder
	for i, part := range path {
		switch {
		case i == 0 || strings.HasPrefix(part, "["):
			out.WriteString(part)
		case strings.Contains(part, "-"):
			out.WriteString(`["` + part + `"]`)
		default:
			out.WriteString("." + part)
		}
	}
	return out.String()
}

// A region is a nil, bool, float64, string, or one of these two.
type (
	// vague is any string that equals no constant and has the same prefixes as its text.
	vague string
	// other is any list or object, or a value that conditions don't distinguish.
	other struct{}
)

// variable is a value that conditions read, or an unknown outcome that they depend on.
type variable struct {
	domain Domain
	// What conditions compare it with.
	numbers         []float64
	texts, prefixes []string

	values []any // one of each region
	at     int   // index of the value that is tried
}

func (v *variable) value() any { return v.values[v.at] }

// isListed reports whether the regions are single values.
func (v *variable) isListed() bool {
	return v.domain.Values != nil || v.domain.Kind == Bool || v.domain.Kind == Int && v.isNarrow()
}

// isNarrow reports whether a variable has so few whole numbers that each is tried.
func (v *variable) isNarrow() bool {
	const most = 16
	d := &v.domain
	return d.HasMin && d.HasMax && math.Floor(d.Max)-math.Ceil(d.Min) < most
}

// listRegions returns one value of each region.
func (v *variable) listRegions() []any {
	d := v.domain
	var out []any
	switch {
	case d.Values != nil:
		for _, value := range d.Values {
			if value != nil {
				value, _ = toScalar(value)
				out = append(out, value)
			}
		}
		d.Null = d.Null || slices.Contains(d.Values, nil)
	case d.Kind == Bool:
		out = []any{true, false}
	case d.Kind == Int || d.Kind == Number:
		out = v.numberRegions()
	case d.Kind == String:
		out = v.textRegions()
	case d.Kind == Other:
		out = []any{other{}}
	default:
		d.Null = true
		out = slices.Concat(v.textRegions(), v.numberRegions(), []any{true, false, other{}})
	}
	if d.Null {
		out = append(out, nil)
	}
	return out
}

// numberRegions returns the constants, the bounds, and a number of each gap between them.
func (v *variable) numberRegions() []any {
	lo, hi := math.Inf(-1), math.Inf(1)
	points := slices.Clone(v.numbers)
	if v.domain.HasMin {
		lo = v.domain.Min
		points = append(points, lo)
	}
	if v.domain.HasMax {
		hi = v.domain.Max
		points = append(points, hi)
	}
	whole := v.domain.Kind == Int
	if whole && v.isNarrow() {
		for n := math.Ceil(lo); n <= hi; n++ {
			points = append(points, n)
		}
	}
	if len(points) == 0 {
		points = append(points, 0)
	}
	slices.Sort(points)
	all := append(slices.Clone(points), points[0]-1, points[len(points)-1]+1)
	for i, p := range points {
		if whole {
			all = append(all, math.Floor(p), math.Ceil(p), math.Floor(p)+1, math.Ceil(p)-1)
		} else if i > 0 {
			all = append(all, points[i-1]+(p-points[i-1])/2)
		}
	}
	slices.Sort(all)
	var out []any
	for _, n := range slices.Compact(all) {
		if n >= lo && n <= hi && (!whole || n == math.Trunc(n)) {
			out = append(out, n+0) // no negative zero
		}
	}
	return out
}

// textRegions returns the constants, and another text for each prefix and for none.
func (v *variable) textRegions() []any {
	texts := slices.Compact(slices.Sorted(slices.Values(v.texts)))
	prefixes := slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(v.prefixes), ""))))
	var out []any
	for _, text := range texts {
		out = append(out, text)
	}
	for _, prefix := range prefixes {
		longer := func(p, text string) bool { return len(p) > len(prefix) && strings.HasPrefix(text, p) }
		// Each constant and each prefix excludes one next character at most.
		for next := 'a'; ; next++ {
			text := prefix + string(next)
			_, isKnown := slices.BinarySearch(texts, text)
			if !isKnown && !slices.ContainsFunc(prefixes, func(p string) bool { return longer(p, text) }) {
				out = append(out, vague(text))
				break
			}
		}
	}
	return out
}

// maxExact is the largest whole number up to which floats are exact.
const maxExact = 1 << 53

// toScalar returns a constant with numbers as float64. It is not ok for inexact numbers.
func toScalar(v any) (value any, ok bool) {
	switch v := v.(type) {
	case int:
		return float64(v), v <= maxExact && v >= -maxExact
	case float64:
		return v, math.Abs(v) <= maxExact
	}
	return v, true
}

// Interval bounds sums, differences and products of numbers whose bounds are known.
func Interval(t *eval.Tree, domain func([]string, eval.Type) Domain) (Domain, bool) {
	switch {
	case t.Op == eval.TreeConst:
		value, exact := toScalar(t.Value)
		n, isNumber := value.(float64)
		kind := Number
		if _, isInt := t.Value.(int); isInt {
			kind = Int
		}
		return Domain{Kind: kind, Min: n, Max: n, HasMin: true, HasMax: true}, isNumber && exact
	case t.Op == eval.TreePath:
		d := domain(t.Path, t.Type)
		return Domain{Kind: d.Kind, Min: d.Min, Max: d.Max, HasMin: d.HasMin, HasMax: d.HasMax}, d.Kind == Int || d.Kind == Number
	case t.Op != eval.TreeBinary || len(t.Args) != 2:
		return Domain{}, false
	}
	a, isA := Interval(t.Args[0], domain)
	b, isB := Interval(t.Args[1], domain)
	if !isA || !isB {
		return Domain{}, false
	}
	out := Domain{Kind: max(a.Kind, b.Kind)}
	switch t.Name {
	case "+":
		out.Min, out.HasMin = a.Min+b.Min, a.HasMin && b.HasMin
		out.Max, out.HasMax = a.Max+b.Max, a.HasMax && b.HasMax
	case "-":
		out.Min, out.HasMin = a.Min-b.Max, a.HasMin && b.HasMax
		out.Max, out.HasMax = a.Max-b.Min, a.HasMax && b.HasMin
	case "*":
		if a.HasMin && a.HasMax && b.HasMin && b.HasMax {
			corners := []float64{a.Min * b.Min, a.Min * b.Max, a.Max * b.Min, a.Max * b.Max}
			out.Min, out.Max, out.HasMin, out.HasMax = slices.Min(corners), slices.Max(corners), true, true
		}
	}
	exact := math.Abs(out.Min) <= maxExact && math.Abs(out.Max) <= maxExact
	return out, exact && (out.HasMin || out.HasMax)
}
