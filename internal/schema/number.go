// Comparing numbers exactly.

package schema

import (
	"cmp"
	"math/big"
	"strconv"

	"github.com/graphrun/graphrun/eval"
)

// maxExact is the largest magnitude up to which a float64 holds every whole number.
const maxExact = 1 << 53

// isNumber reports whether v is an int or a finite float64.
func isNumber(v any) bool {
	f, ok := eval.Number(v)
	return ok && f-f == 0
}

// compareNumbers compares two numbers without rounding either.
func compareNumbers(a, b any) int {
	f, _ := eval.Number(a)
	g, _ := eval.Number(b)
	if f != g {
		return cmp.Compare(f, g)
	}
	exact := func(v any, f float64) *big.Float {
		if i, ok := v.(int); ok {
			return new(big.Float).SetInt64(int64(i))
		}
		return big.NewFloat(f)
	}
	return exact(a, f).Cmp(exact(b, g))
}

// isMultiple compares in decimal, as people write it: 0.3 is a multiple of 0.1.
func isMultiple(v, of any) bool {
	i, ok := v.(int)
	j, ok2 := of.(int)
	if ok && ok2 {
		return i%j == 0
	}
	return new(big.Rat).Quo(toRat(v), toRat(of)).IsInt()
}

func toRat(v any) *big.Rat {
	r := new(big.Rat)
	if i, ok := v.(int); ok {
		return r.SetInt64(int64(i))
	}
	f, _ := eval.Number(v)
	r.SetString(strconv.FormatFloat(f, 'g', -1, 64)) // the text of a finite float is always a number
	return r
}
