// The meaning of plain scalars (YAML 1.2's core schema), and values in messages.

package spec

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/internal/lazyregexp"
)

var floatPattern = lazyregexp.New(`^[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?$`)

// resolvePlain reads an unquoted scalar: null, true, false, whole numbers
// (decimal, 0x, 0o), floating point numbers; all else is a string, dates and
// yes/no too. bits are the field of Value. problem is set for a number that JSON
// can't hold.
func resolvePlain(s string) (kind ValueKind, bits uint64, problem string) {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return Null, 0, ""
	case "true", "True", "TRUE":
		return Bool, 1, ""
	case "false", "False", "FALSE":
		return Bool, 0, ""
	}
	if strings.IndexByte("0123456789+-.", s[0]) < 0 {
		return String, 0, ""
	}
	switch strings.TrimLeft(strings.ToLower(s[:1]), "+-") + strings.ToLower(s[1:]) {
	case ".inf", ".nan":
		return Float, 0, "is not a number that JSON can hold; expected a finite number"
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return Int, uint64(n), ""
	}
	if (strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0o")) && !strings.Contains(s, "_") {
		switch n, err := strconv.ParseUint(s, 0, 64); {
		case err == nil && n <= math.MaxInt64:
			return Int, n, ""
		case err == nil:
			return Float, math.Float64bits(float64(n)), ""
		}
	}
	if !floatPattern().MatchString(s) {
		return String, 0, ""
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return Float, 0, "is too large; expected a number within 64-bit floating point"
	}
	return Float, math.Float64bits(f), ""
}

// describeValue names a value in a message.
func describeValue(v *Value) string {
	switch v.Kind {
	case List:
		return "a list"
	case Map:
		return "a map"
	case Null:
		return "no value"
	case String:
		return "the text " + quoteShort(v.Text.Value)
	case Bool:
		return v.Text.Value
	}
	return "the number " + v.Text.Value
}

// quoteShort quotes a text and cuts a long one.
func quoteShort(s string) string {
	const most = 40
	if runes := []rune(s); len(s) > most && len(runes) > most {
		s = strings.TrimSpace(string(runes[:most])) + "…"
	}
	return fmt.Sprintf("%q", s)
}
