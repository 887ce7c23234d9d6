// What a plain scalar means: YAML 1.2's core schema.

package spec

import (
	"math"
	"strconv"
	"strings"
)

// resolvePlain reads an unquoted scalar: null, true, false, whole numbers
// (decimal, 0x, 0o), floating point numbers; all else is a string, dates and
// yes/no too. bits are those of a Value; problem is set for a number that JSON
// has no form for.
func resolvePlain(s string) (kind ValueKind, bits uint64, problem string) {
	if s == "" {
		return Null, 0, ""
	}
	switch c := s[0]; {
	case c >= '0' && c <= '9', c == '+', c == '-', c == '.':
		return resolveNumber(s)
	case strings.IndexByte("~nNtTfF", c) < 0:
		return String, 0, ""
	}
	switch s {
	case "~", "null", "Null", "NULL":
		return Null, 0, ""
	case "true", "True", "TRUE":
		return Bool, 1, ""
	case "false", "False", "FALSE":
		return Bool, 0, ""
	}
	return String, 0, ""
}

func resolveNumber(s string) (ValueKind, uint64, string) {
	body := strings.TrimLeft(s, "+-")
	if len(s)-len(body) > 1 || body == "" {
		return String, 0, ""
	}
	switch strings.ToLower(body) {
	case ".inf", ".nan":
		return Float, 0, "is no number that JSON can hold; expected a finite number"
	}
	if strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0o") {
		base := map[byte]int{'x': 16, 'o': 8}[s[1]]
		if strings.Contains(s, "_") {
			return String, 0, ""
		}
		n, err := strconv.ParseUint(s[2:], base, 64)
		switch {
		case err == nil && n <= math.MaxInt64:
			return Int, n, ""
		case err == nil:
			return Float, math.Float64bits(float64(n)), ""
		}
		return String, 0, ""
	}
	if digits(body) == len(body) {
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return Int, uint64(n), ""
		}
	} else if !isFloat(body) {
		return String, 0, ""
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return Float, 0, "is too large; expected a number within 64-bit floating point"
	}
	return Float, math.Float64bits(f), ""
}

// digits is the number of decimal digits that s starts with.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// isFloat matches an unsigned floating point number: 1. 1.5 .5 1e3 1.5e-3.
func isFloat(s string) bool {
	whole := digits(s)
	s = s[whole:]
	fraction := 0
	if strings.HasPrefix(s, ".") {
		fraction = digits(s[1:])
		s = s[1+fraction:]
	}
	if whole+fraction == 0 {
		return false
	}
	if s == "" {
		return true
	}
	if s[0] != 'e' && s[0] != 'E' {
		return false
	}
	s = s[1:]
	if s != "" && (s[0] == '+' || s[0] == '-') {
		s = s[1:]
	}
	return s != "" && digits(s) == len(s)
}
