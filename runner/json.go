// Plain data as JSON, appended to a buffer.

package runner

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/graphrun/graphrun/runner/machine"
)

func appendNames(dst []byte, names []string) []byte {
	dst = append(dst, '[')
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, name)
	}
	return append(dst, ']')
}

func appendIntKey(dst []byte, key string, n int) []byte {
	if n == 0 {
		return dst
	}
	return appendInt(append(dst, key...), n)
}

func appendTextKey(dst []byte, key, text string) []byte {
	if text == "" {
		return dst
	}
	return appendString(append(dst, key...), text)
}

func appendValueKey(dst []byte, key string, v any) []byte {
	return appendValue(append(dst, key...), v)
}

// appendValue appends plain data, the keys of maps sorted.
func appendValue(dst []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, v)
	case int:
		return appendInt(dst, v)
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return strconv.AppendInt(dst, int64(v), 10)
		}
		return appendMarshalled(dst, v)
	case string:
		return appendString(dst, v)
	case []any:
		dst = append(dst, '[')
		for i, item := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendValue(dst, item)
		}
		return append(dst, ']')
	case map[string]any:
		return appendMap(dst, v)
	case *machine.Object:
		return appendPairs(dst, v.Pairs)
	}
	return appendMarshalled(dst, v)
}

func appendMap(dst []byte, m map[string]any) []byte {
	dst = append(dst, '{')
	for i, name := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, name)
		dst = append(dst, ':')
		dst = appendValue(dst, m[name])
	}
	return append(dst, '}')
}

// appendString appends a JSON string; bytes that are no UTF-8 become U+FFFD.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if c >= utf8.RuneSelf && (r != utf8.RuneError || size > 1) {
			i += size
			continue
		}
		dst = append(dst, s[start:i]...)
		dst = appendEscaped(dst, c)
		i++
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

func appendEscaped(dst []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	if c >= utf8.RuneSelf {
		return append(dst, `\ufffd`...)
	}
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// appendTime appends an RFC 3339 time in UTC with microseconds.
func appendTime(dst []byte, t time.Time) []byte {
	dst = t.UTC().AppendFormat(dst, time.RFC3339) // the layout that package time knows by heart
	point := len(dst) - len("Z")
	dst = appendInt(dst[:point], 1_000_000+t.Nanosecond()/1000)
	dst[point] = '.'
	return append(dst, 'Z')
}

func appendInt(dst []byte, n int) []byte { return strconv.AppendInt(dst, int64(n), 10) }
