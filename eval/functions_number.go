// Functions on numbers.

package eval

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

func absValue(args ...any) (any, uint) {
	switch v := args[0].(type) {
	case int:
		return max(v, -v), 0
	case float64:
		return math.Abs(v), 0
	}
	panic(failf("abs needs a number, found %s", kindOf(args[0])))
}

// rounding returns ceil, floor or round (half away from zero). The result is
// an integer where one can hold it.
func rounding(name string, round func(float64) float64) operation {
	return func(args ...any) (any, uint) {
		if n, ok := args[0].(int); ok {
			return n, 0
		}
		f, ok := args[0].(float64)
		if !ok {
			panic(failf("%s needs a number, found %s", name, kindOf(args[0])))
		}
		if f = round(f); math.Abs(f) > maxInt {
			return f, 0
		}
		return int(f), 0
	}
}

// toInt cuts a number to its whole part, or reads one from a string.
func toInt(args ...any) (any, uint) {
	switch v := args[0].(type) {
	case int:
		return v, 0
	case float64:
		if math.Abs(v) > maxInt {
			panic(errTooBig)
		}
		return int(v), 0
	case string:
		n, err := strconv.Atoi(strings.TrimSpace(v))
		if err != nil || n > maxInt || n < -maxInt {
			panic(failf("int cannot read %s", shortQuote(v)))
		}
		return n, 0
	}
	panic(failf("int needs a number or a string, found %s", kindOf(args[0])))
}

func toFloat(args ...any) (any, uint) {
	switch v := args[0].(type) {
	case int:
		return float64(v), 0
	case float64:
		return v, 0
	case string:
		f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			panic(failf("float cannot read %s", shortQuote(v)))
		}
		return f, 0
	}
	panic(failf("float needs a number or a string, found %s", kindOf(args[0])))
}

func shortQuote(s string) string {
	const most = 40
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return strconv.Quote(s)
}

// flatNumbers are the arguments, lists among them opened one level.
func flatNumbers(name string, args []any) []any {
	var out []any
	for _, a := range args {
		if l, ok := a.([]any); ok {
			out = append(out, l...)
			continue
		}
		out = append(out, a)
	}
	for _, v := range out {
		if _, ok := Number(v); !ok {
			panic(failf("%s needs numbers, found %s", name, kindOf(v)))
		}
	}
	return out
}

// extreme returns max (1) or min (-1); of no numbers it is null.
func extreme(name string, sign int) operation {
	return func(args ...any) (any, uint) {
		values := flatNumbers(name, args)
		if len(values) == 0 {
			return nil, 0
		}
		best := values[0]
		for _, v := range values[1:] {
			if n, _, _ := order(v, best); n*sign > 0 {
				best = v
			}
		}
		return best, uint(len(values))
	}
}

// average returns mean or median; of no numbers it is null.
func average(name string) operation {
	return func(args ...any) (any, uint) {
		values := flatNumbers(name, args)
		if len(values) == 0 {
			return nil, 0
		}
		floats, sum := make([]float64, len(values)), 0.0
		for i, v := range values {
			floats[i], _ = Number(v)
			sum += floats[i]
		}
		n := len(floats)
		if name == "mean" {
			return checkFloat(sum / float64(n)), uint(n)
		}
		slices.Sort(floats)
		if n%2 == 1 {
			return floats[n/2], sortUnits(n)
		}
		return checkFloat((floats[n/2-1] + floats[n/2]) / 2), sortUnits(n)
	}
}

// sumValues adds a list of numbers; the sum of none is 0.
func sumValues(args ...any) (any, uint) {
	l := needList("sum", args[0])
	var total any = 0
	for _, v := range l {
		total = addNumbers(total, v)
		if n, ok := total.(int); ok && max(n, -n) > maxInt {
			panic(errTooBig)
		}
	}
	return total, uint(len(l))
}
