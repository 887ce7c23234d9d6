// Comparing numbers exactly.

package schema

import (
	"cmp"
	"math"
	"math/big"
	"strconv"
)

// maxExact is the largest magnitude up to which a float64 holds every whole number.
const maxExact = 1 << 53

// isNumber reports whether v is an int or a finite float64.
func isNumber(v any) bool {
	switch v := v.(type) {
	case int:
		return true
	case float64:
		return v-v == 0
	}
	return false
}

// compareNumbers compares two numbers without rounding either.
func compareNumbers(a, b any) int {
	x, xInt := a.(int)
	y, yInt := b.(int)
	f, _ := a.(float64)
	g, _ := b.(float64)
	switch {
	case xInt && yInt:
		return cmp.Compare(x, y)
	case xInt:
		return compareIntFloat(x, g)
	case yInt:
		return -compareIntFloat(y, f)
	}
	return cmp.Compare(f, g)
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
	i, ok := v.(int)
	j, ok2 := of.(int)
	if ok && ok2 {
		return i%j == 0
	}
	return new(big.Rat).Quo(decimal(v), decimal(of)).IsInt()
}

func decimal(v any) *big.Rat {
	r := new(big.Rat)
	switch v := v.(type) {
	case int:
		r.SetInt64(int64(v))
	case float64: // the text of a finite float is always a number
		r.SetString(strconv.FormatFloat(v, 'g', -1, 64))
	}
	return r
}
