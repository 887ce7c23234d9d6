// Numbers and equality over plain data.

package schema

import (
	"cmp"
	"math"
	"math/big"
	"strconv"
)

// maxExact is the largest magnitude up to which a float64 holds every whole number.
const maxExact = 1 << 53

func isNumber(v any) bool {
	switch v := v.(type) {
	case int:
		return true
	case float64:
		return v-v == 0
	}
	return false
}

// compareNumbers compares two numbers without rounding either. Anything else is 0.
func compareNumbers(a, b any) int {
	switch a := a.(type) {
	case int:
		switch b := b.(type) {
		case int:
			return cmp.Compare(a, b)
		case float64:
			return compareIntFloat(a, b)
		}
	case float64:
		switch b := b.(type) {
		case int:
			return -compareIntFloat(b, a)
		case float64:
			return cmp.Compare(a, b)
		}
	}
	return 0
}

func compareIntFloat(i int, f float64) int {
	switch {
	case f >= 1<<63:
		return -1
	case f < -(1 << 63):
		return 1
	}
	whole := math.Trunc(f)
	return cmp.Or(cmp.Compare(int64(i), int64(whole)), cmp.Compare(0, f-whole))
}

// isMultiple compares in decimal, as people write it: 0.3 is a multiple of 0.1.
func isMultiple(v, of any) bool {
	if i, ok := v.(int); ok {
		if j, ok := of.(int); ok {
			return i%j == 0
		}
	}
	return new(big.Rat).Quo(decimal(v), decimal(of)).IsInt()
}

func decimal(v any) *big.Rat {
	r := new(big.Rat)
	switch v := v.(type) {
	case int:
		r.SetInt64(int64(v))
	case float64:
		// The text of a finite float is always a number.
		r.SetString(strconv.FormatFloat(v, 'g', -1, 64))
	}
	return r
}

// equal compares plain data; 1 and 1.0 are one number.
func equal(a, b any) bool {
	switch a := a.(type) {
	case string:
		b, ok := b.(string)
		return ok && a == b
	case int, float64:
		return isNumber(a) && isNumber(b) && compareNumbers(a, b) == 0
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	case nil:
		return b == nil
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equal(a[i], b[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, x := range a {
			if y, ok := b[k]; !ok || !equal(x, y) {
				return false
			}
		}
		return true
	}
	return false
}
