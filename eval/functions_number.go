// Functions on numbers.

package eval

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

func absValue(args ...any) (any, uint, error) {
	switch v := args[0].(type) {
	case int:
		return abs(v), 0, nil
	case float64:
		return math.Abs(v), 0, nil
	}
	return nil, 0, failf("abs needs a number, found %s", kindOf(args[0]))
}

// rounding returns ceil, floor or round (half away from zero). The result is
// an integer where one can hold it.
func rounding(name string) charged {
	return func(args ...any) (any, uint, error) {
		if n, ok := args[0].(int); ok {
			return n, 0, nil
		}
		f, ok := args[0].(float64)
		if !ok {
			return nil, 0, failf("%s needs a number, found %s", name, kindOf(args[0]))
		}
		switch name {
		case "ceil":
			f = math.Ceil(f)
		case "floor":
			f = math.Floor(f)
		default:
			f = math.Round(f)
		}
		if math.Abs(f) > maxInt {
			return f, 0, nil
		}
		return int(f), 0, nil
	}
}

// toInt cuts a number to its whole part, or reads one from a string.
func toInt(args ...any) (any, uint, error) {
	switch v := args[0].(type) {
	case int:
		return v, 0, nil
	case float64:
		if math.Abs(v) > maxInt {
			return nil, 0, errTooBig
		}
		return int(v), 0, nil
	case string:
		n, err := strconv.Atoi(strings.TrimSpace(v))
		if err != nil || n > maxInt || n < -maxInt {
			return nil, 0, failf("int cannot read %s", shortQuote(v))
		}
		return n, 0, nil
	}
	return nil, 0, failf("int needs a number or a string, found %s", kindOf(args[0]))
}

func toFloat(args ...any) (any, uint, error) {
	switch v := args[0].(type) {
	case int:
		return float64(v), 0, nil
	case float64:
		return v, 0, nil
	case string:
		f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, 0, failf("float cannot read %s", shortQuote(v))
		}
		return f, 0, nil
	}
	return nil, 0, failf("float needs a number or a string, found %s", kindOf(args[0]))
}

func shortQuote(s string) string {
	const most = 40
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return strconv.Quote(s)
}

// flatNumbers are the arguments, lists among them opened one level.
func flatNumbers(name string, args []any) ([]any, error) {
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
			return nil, failf("%s needs numbers, found %s", name, kindOf(v))
		}
	}
	return out, nil
}

// extreme returns max or min; of no numbers it is null.
func extreme(name string) charged {
	return func(args ...any) (any, uint, error) {
		values, err := flatNumbers(name, args)
		if err != nil || len(values) == 0 {
			return nil, 0, err
		}
		best := values[0]
		for _, v := range values[1:] {
			n, _, _ := order(v, best)
			if name == "max" && n > 0 || name == "min" && n < 0 {
				best = v
			}
		}
		return best, uint(len(values)), nil
	}
}

// average returns mean or median; of no numbers it is null.
func average(name string) charged {
	return func(args ...any) (any, uint, error) {
		values, err := flatNumbers(name, args)
		if err != nil || len(values) == 0 {
			return nil, 0, err
		}
		floats, sum := make([]float64, len(values)), 0.0
		for i, v := range values {
			floats[i], _ = Number(v)
			sum += floats[i]
		}
		n := len(floats)
		if name == "mean" {
			return checkFloat(sum / float64(n)), uint(n), nil
		}
		slices.Sort(floats)
		if n%2 == 1 {
			return floats[n/2], sortUnits(n), nil
		}
		return checkFloat((floats[n/2-1] + floats[n/2]) / 2), sortUnits(n), nil
	}
}

// sumValues adds a list of numbers; the sum of none is 0.
func sumValues(args ...any) (any, uint, error) {
	l, err := needList("sum", args[0])
	if err != nil {
		return nil, 0, err
	}
	var total any = 0
	for _, v := range l {
		total = addNumbers(total, v)
	}
	return total, uint(len(l)), nil
}
