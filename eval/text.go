// Values and durations as text, and values as JSON.

package eval

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Text formats a value as a template does: strings unchanged, null as "", numbers in
// their shortest form, lists and objects as compact JSON with sorted keys.
func Text(v any) string {
	switch v := v.(type) {
	case nil, Open:
		return ""
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case int:
		return strconv.Itoa(v)
	case float64:
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0):
			return ""
		case v == math.Trunc(v) && math.Abs(v) < 1e15:
			return strconv.FormatFloat(v, 'f', -1, 64)
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	plain, err := Canonical(v)
	if err != nil {
		return ""
	}
	switch plain.(type) {
	case []any, map[string]any:
		return encodeJSON(plain)
	}
	return Text(plain)
}

// Head returns the beginning of a text: whole characters, at most size bytes.
func Head(s string, size int) string {
	if len(s) <= size {
		return s
	}
	for size > 0 && !utf8.RuneStart(s[size]) {
		size--
	}
	return s[:size]
}

// Shorten works like Head, but adds … if it cuts the text.
func Shorten(s string, size int) string {
	if cut := Head(s, size); cut != s {
		return cut + "…"
	}
	return s
}

// Count formats a number with its noun: 1 step, 2 steps, 2 properties.
func Count(n int, noun string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(noun, "ty"):
		noun = strings.TrimSuffix(noun, "y") + "ies"
	default:
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

// DurationText formats a duration as graph files write it: 1m, not 1m0s; 1h30m, 1.5s, 250ms, 0s.
func DurationText(d time.Duration) string {
	s := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, zero) {
			s = s[:len(s)-2]
		}
	}
	return s
}

// AppendJSON appends plain data as one JSON value: compact, with sorted keys, and without
// escapes for HTML.
func AppendJSON(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case int:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	}
	b := bytes.NewBuffer(dst)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return dst, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// encodeJSON returns plain data as JSON, or "" if it has no JSON form.
func encodeJSON(plain any) string {
	out, _ := AppendJSON(nil, plain)
	return string(out)
}
