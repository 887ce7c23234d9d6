// Values to try for what conditions read inside parts that are not understood:
// lists that any, all, count and len ask about, texts and numbers that are computed
// with.

package solve

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/graphrun/graphrun/eval"
)

// hints are what the conditions mention: values that samples are made of.
type hints struct {
	texts   []string
	numbers []float64
	// members are the names that predicates read of elements.
	members []string
}

// Bounds of what is made of the hints.
const (
	maxHints    = 8   // constants of each kind
	maxSamples  = 48  // values of one path
	maxElements = 6   // different elements of lists
	maxLength   = 6   // elements of lists
	maxText     = 300 // characters of texts
)

// literal matches the constants, and the members of elements, in the text of a
// part.
var literal = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`"(?:[^"\\]|\\.)*"|(?:#|^|[ (!])\.([A-Za-z_]\w*)|\b\d+(?:\.\d+)?\b`)
})

// hint collects what the conditions mention.
func (s *solver) hint() *hints {
	h := &hints{}
	for _, c := range s.problem.Conditions {
		c.Tree().Each(func(t *eval.Tree) {
			switch t.Op {
			case eval.TreeConst:
				h.value(t.Value)
			case eval.TreeOther:
				h.part(t.Name)
			}
		})
	}
	return h
}

func (h *hints) value(v any) {
	switch v := v.(type) {
	case string:
		if !slices.Contains(h.texts, v) && len(h.texts) < maxHints {
			h.texts = append(h.texts, v)
		}
	case int:
		h.value(float64(v))
	case float64:
		if !slices.Contains(h.numbers, v) && len(h.numbers) < maxHints {
			h.numbers = append(h.numbers, v)
		}
	}
}

func (h *hints) part(text string) {
	for _, found := range literal().FindAllStringSubmatch(text, -1) {
		switch {
		case found[1] != "":
			if !slices.Contains(h.members, found[1]) {
				h.members = append(h.members, found[1])
			}
		case found[0][0] == '"':
			if v, err := strconv.Unquote(found[0]); err == nil {
				h.value(v)
			}
		default:
			if v, err := strconv.ParseFloat(found[0], 64); err == nil {
				h.value(v)
			}
		}
	}
}

// samples are values of a domain that conditions tell apart most often: usual ones,
// and those that are made of the hints.
func (h *hints) samples(d Domain) []any {
	if d.Values != nil {
		return d.Values
	}
	var out []any
	switch d.Kind {
	case Bool:
		return []any{true, false}
	case Int, Number:
		for _, n := range h.amounts() {
			if (!d.HasMin || n >= d.Min) && (!d.HasMax || n <= d.Max) && (d.Kind == Number || n == math.Trunc(n)) {
				out = append(out, n)
			}
		}
	case String:
		out = h.wordings()
	case Other:
		out = append([]any{[]any{}, map[string]any{}}, h.lists(d.Element)...)
	default:
		out = []any{[]any{}, "other", 0., true, map[string]any{}, ""}
		for _, more := range [][]any{h.wordings(), values(h.amounts()), h.lists(d.Element)} {
			out = append(out, more[:min(len(more), maxSamples/3)]...)
		}
	}
	return out[:min(len(out), maxSamples)]
}

// amounts are usual numbers, then those around the mentioned ones, and what is left
// when one of them is added or taken away.
func (h *hints) amounts() []float64 {
	out := []float64{0, 1, -1, 2, 3, 10, 1000}
	add := func(n float64) {
		if !slices.Contains(out, n) && math.Abs(n) <= maxExact {
			out = append(out, n)
		}
	}
	for _, n := range h.numbers {
		add(n)
		add(n + 1)
		add(n - 1)
	}
	for _, n := range h.numbers {
		for _, m := range h.numbers {
			for _, k := range []float64{1, 2} {
				add(n - k*m)
				add(n - k*m + 1)
			}
		}
	}
	return out
}

// wordings are usual texts, the mentioned ones, alone and with something before or
// behind them, and texts of the mentioned lengths.
func (h *hints) wordings() []any {
	out := []any{"other", "", "x", "0"}
	add := func(text string) {
		if !slices.Contains(out, any(text)) {
			out = append(out, text)
		}
	}
	for _, text := range h.texts {
		add(text)
	}
	for _, text := range h.texts {
		add("x" + text)
		add(text + "x")
	}
	for _, n := range h.lengths(maxText) {
		add(strings.Repeat("x", n))
	}
	return out
}

// lengths are those of lists and texts, at most so long, that the mentioned numbers tell
// apart.
func (h *hints) lengths(most float64) []int {
	out := []int{1, 2}
	for _, n := range h.numbers {
		for _, n := range []float64{n, n + 1} {
			if n == math.Trunc(n) && n > 2 && n <= most && !slices.Contains(out, int(n)) {
				out = append(out, int(n))
			}
		}
	}
	slices.Sort(out)
	return out
}

// lists are those of one mentioned element, alone and again and again, and of two.
func (h *hints) lists(kind Kind) []any {
	elements := h.elements(kind)
	var out []any
	for _, n := range h.lengths(maxLength) {
		for _, e := range elements {
			list := make([]any, n)
			for i := range list {
				list[i] = e
			}
			out = append(out, list)
		}
		if n != 2 {
			continue
		}
		for i, a := range elements {
			for _, b := range elements[i+1:] {
				out = append(out, []any{a, b})
			}
		}
	}
	return out
}

// elements are values that an element of a list may have: what is mentioned, or an
// object whose members have it.
func (h *hints) elements(kind Kind) []any {
	var scalars []any
	if kind == Any || kind == Other || kind == String {
		for _, text := range h.texts {
			scalars = append(scalars, text)
		}
	}
	if kind == String {
		scalars = append(scalars, "other")
	}
	if kind == Any || kind == Other || kind == Int || kind == Number {
		for _, n := range h.numbers {
			scalars = append(scalars, plain(n), plain(n+1))
		}
	}
	switch kind {
	case Any, Other:
		scalars = append(scalars, "other", true, false)
	case Bool:
		scalars = append(scalars, true, false)
	case Int, Number:
		scalars = append(scalars, 0, 1)
	}
	if len(h.members) == 0 {
		return scalars[:min(len(scalars), maxElements)]
	}
	var out []any
	for _, v := range scalars {
		for _, w := range scalars {
			object := map[string]any{}
			for i, name := range h.members {
				object[name] = []any{v, w}[i%2]
			}
			out = append(out, object)
			if len(h.members) == 1 {
				break
			}
		}
	}
	return out[:min(len(out), 2*maxElements)]
}

func values(numbers []float64) []any {
	out := make([]any, len(numbers))
	for i, n := range numbers {
		out[i] = n
	}
	return out
}
