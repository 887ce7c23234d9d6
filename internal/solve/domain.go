// Variables and the regions of their domains.

package solve

import (
	"math"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
)

// Values of variables are nil, bool, float64, string and these two; the order
// variable of a comparison has -1, 0 and 1.

// vague stands for all strings of a region: those with the same of the wanted
// prefixes that equal no constant. Its text is one of them.
type vague string

// other stands for lists, objects and, for a variable of any kind, whatever is
// not told apart from them.
type other struct{}

// variable is a value that conditions read, or a truth that they depend on.
type variable struct {
	path   []string // nil for what is computed
	key    string   // of what is computed: equal for equal values
	typ    eval.Type
	domain Domain

	// What the conditions compare it with.
	numbers  []float64
	texts    []string
	prefixes []string
	bools    bool
	asksNull bool
	// textual: it stands in a text operator that regions don't decide; parts are
	// texts for which these operators hold.
	textual bool
	parts   []string

	// values has one value of each region.
	values []any
	// exact: values are all the values there are.
	exact bool
}

// name tells variables apart.
func (v *variable) name() string {
	if v.path != nil {
		return pathKey(v.path)
	}
	return v.key
}

// maxListed is how many whole numbers are listed one by one.
const maxListed = 16

// divide fills in the regions.
func (v *variable) divide() {
	d := v.domain
	nullable := d.Null
	switch {
	case d.Values != nil:
		v.exact = true
		for _, value := range d.Values {
			if value == nil {
				nullable = true
			} else {
				v.values = append(v.values, canonical(value))
			}
		}
	case d.Kind == Bool:
		v.exact, v.values = true, []any{true, false}
	case d.Kind == Int || d.Kind == Number:
		v.values = v.numberRegions(d.Kind == Int)
	case d.Kind == String:
		v.values = v.textRegions()
	case d.Kind == Other:
		v.values = []any{other{}}
	default:
		nullable = true
		v.anyRegions()
	}
	if nullable {
		v.values = append(v.values, nil)
	}
}

// canonical brings numbers into the one form that values have.
func canonical(v any) any {
	if n, ok := v.(int); ok {
		return float64(n)
	}
	return v
}

// anyRegions are those of every kind; usual are the kinds that it is compared
// with.
func (v *variable) anyRegions() {
	usual, rare := []any{}, []any{}
	put := func(on bool, values ...any) {
		if on {
			usual = append(usual, values...)
		} else {
			rare = append(rare, values...)
		}
	}
	put(len(v.texts)+len(v.prefixes) > 0 || v.textual, v.textRegions()...)
	put(len(v.numbers) > 0, v.numberRegions(false)...)
	put(v.bools, true, false)
	rare = append(rare, other{})
	v.values = append(usual, rare...)
}

// numberRegions are the constants, and a number of each gap around them.
func (v *variable) numberRegions(whole bool) []any {
	lo, hi := math.Inf(-1), math.Inf(1)
	if v.domain.HasMin {
		lo = v.domain.Min
	}
	if v.domain.HasMax {
		hi = v.domain.Max
	}
	if whole {
		lo, hi = math.Ceil(lo), math.Floor(hi)
		if hi-lo < maxListed {
			v.exact = true
			out := make([]any, 0, max(0, int(hi-lo)+1))
			for n := lo; n <= hi; n++ {
				out = append(out, n)
			}
			return out
		}
	}
	points := append(make([]float64, 0, len(v.numbers)+2), v.numbers...)
	for _, end := range []float64{lo, hi} {
		if !math.IsInf(end, 0) {
			points = append(points, end)
		}
	}
	if len(points) == 0 {
		points = append(points, 0)
	}
	slices.Sort(points)
	points = slices.Compact(points)
	// Constants come first: they are the values that people forget.
	rest := make([]float64, 0, 5*len(points)+2)
	rest = append(rest, math.Floor(points[0])-1, math.Ceil(points[len(points)-1])+1)
	for i := 1; i < len(points); i++ {
		rest = append(rest, between(points[i-1], points[i])...)
	}
	if whole {
		for _, p := range points {
			rest = append(rest, math.Floor(p), math.Ceil(p), math.Floor(p)+1, math.Ceil(p)-1)
		}
	}
	slices.Sort(rest)
	rest = slices.Compact(rest)
	out := make([]any, 0, len(points)+len(rest))
	put := func(n float64) {
		if n >= lo && n <= hi && (!whole || n == math.Trunc(n)) {
			out = append(out, n+0) // no negative zero
		}
	}
	for _, n := range points {
		put(n)
	}
	for _, n := range rest {
		if _, known := slices.BinarySearch(points, n); !known {
			put(n)
		}
	}
	return out
}

// between is a number in the open interval, whole if there is one.
func between(a, b float64) []float64 {
	if n := math.Floor(a) + 1; n < b {
		return []float64{n}
	}
	if m := a + (b-a)/2; m > a && m < b {
		return []float64{m}
	}
	return nil
}

// textRegions are the constants, and a string for each prefix, and another.
func (v *variable) textRegions() []any {
	if len(v.texts)+len(v.prefixes)+len(v.parts) == 0 {
		return []any{vague("other")}
	}
	texts, prefixes := slices.Clone(v.texts), slices.Clone(v.prefixes)
	for _, part := range v.parts {
		texts = append(texts, part)
		for _, prefix := range v.prefixes {
			texts = append(texts, prefix+part)
		}
	}
	slices.Sort(texts)
	slices.Sort(prefixes)
	texts, prefixes = slices.Compact(texts), slices.Compact(prefixes)
	known := make(map[string]bool, len(texts))
	out := make([]any, 0, len(texts)+len(prefixes)+2)
	for _, t := range texts {
		known[t] = true
		out = append(out, t)
	}
	if len(prefixes) == 0 || prefixes[0] != "" {
		prefixes = append(prefixes, "")
	}
	for _, p := range prefixes {
		out = append(out, vague(freshText(p, known, prefixes)))
	}
	return out
}

// freshText is a string with the prefix and none of the longer ones that is no
// constant. Each constant and each prefix rules out one next character at
// most, so one more character than there are of them is enough.
func freshText(prefix string, known map[string]bool, prefixes []string) string {
	fits := func(text string) bool {
		return !known[text] && !slices.ContainsFunc(prefixes, func(p string) bool {
			return len(p) > len(prefix) && strings.HasPrefix(text, p)
		})
	}
	if prefix != "" && fits(prefix) {
		return prefix
	}
	if text := prefix + "other"; fits(text) {
		return text
	}
	text := prefix
	for r := rune('a'); r <= 'a'+rune(len(known)+len(prefixes)); r++ {
		if text = prefix + string(r); fits(text) {
			break
		}
	}
	return text
}
