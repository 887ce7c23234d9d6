// Arithmetic on two numbers that fails instead of wrapping around.

package eval

import (
	"errors"
	"fmt"
	"math"
)

var errZeroDivision = errors.New("division by zero")

// maxSum bounds sums and differences, which may leave the 61 bits of integers: n + n - n is n.
const maxSum = 1 << 62

var (
	addNumbers = arithmetic("+", maxSum, func(x, y int) int { return x + y }, func(f, g float64) float64 { return f + g })
	subtract   = arithmetic("-", maxSum, func(x, y int) int { return x - y }, func(f, g float64) float64 { return f - g })
	multiply   = arithmetic("*", maxInt, func(x, y int) int { return x * y }, func(f, g float64) float64 { return f * g })
)

// arithmetic returns an operator on two integers, or else on floats. It fails if the magnitude
// of an integer result is beyond most.
func arithmetic(op string, most float64, ints func(x, y int) int, numbers func(f, g float64) float64) binaryOperation {
	return func(_ *frame, a, b any) any {
		x, xInt := a.(int)
		y, yInt := b.(int)
		if !xInt || !yInt {
			f, g := toFloats(op, a, b)
			return checkFloat(numbers(f, g))
		}
		if math.Abs(numbers(float64(x), float64(y))) > most {
			panic(errTooBig)
		}
		return ints(x, y)
	}
}

// divide always yields a float64.
func divide(_ *frame, a, b any) any {
	f, g := toFloats("/", a, b)
	if g == 0 {
		panic(errZeroDivision)
	}
	return checkFloat(f / g)
}

// modulo takes whole numbers of either type; the result has the sign of a.
func modulo(_ *frame, a, b any) any {
	x, y := wholeNumber("%", a), wholeNumber("%", b)
	if y == 0 {
		panic(errZeroDivision)
	}
	return x % y
}

// raisePower returns an int for an int and an int that is not negative, else a float64.
func raisePower(_ *frame, a, b any) any {
	f, g := toFloats("**", a, b)
	out := math.Pow(f, g)
	base, xInt := a.(int)
	y, yInt := b.(int)
	if !xInt || !yInt || y < 0 {
		return checkFloat(out)
	}
	if math.Abs(out) > maxInt {
		panic(errTooBig)
	}
	n := 1
	for ; y > 0; y >>= 1 {
		if y&1 == 1 {
			n *= base
		}
		base *= base
	}
	return n
}

func negate(_ *frame, _, v any) any {
	switch v := v.(type) {
	case int:
		return -v
	case float64:
		return -v
	}
	panic(fmt.Errorf("cannot use - on %s", kindOf(v)))
}

func checkFloat(f float64) any {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		panic(errors.New("result is not a finite number"))
	}
	return f
}

func toFloats(op string, a, b any) (float64, float64) {
	f, ok := Number(a)
	g, ok2 := Number(b)
	if !ok || !ok2 {
		panic(operandError(op, a, b))
	}
	return f, g
}

// Number returns an integer or a float64 as a float64, and false for any other value.
func Number(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// wholeNumber returns a number without a fraction as an int.
func wholeNumber(op string, v any) int {
	switch v := v.(type) {
	case int:
		return v
	case float64:
		if v == math.Trunc(v) && math.Abs(v) <= maxInt {
			return int(v)
		}
		panic(fmt.Errorf("%s needs whole numbers, found %s", op, Text(v)))
	}
	panic(fmt.Errorf("%s needs whole numbers, found %s", op, kindOf(v)))
}

func operandError(op string, a, b any) error {
	return fmt.Errorf("cannot use %s on %s and %s", op, kindOf(a), kindOf(b))
}
