// Parts of JSON, appended to a buffer.

package runner

import (
	"strconv"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/runner/machine"
)

func appendNames(dst []byte, names []string) []byte {
	dst = append(dst, '[')
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = eval.AppendString(dst, name)
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
	return eval.AppendString(append(dst, key...), text)
}

func appendValueKey(dst []byte, key string, v any) []byte {
	return appendValue(append(dst, key...), v)
}

// appendValue appends plain data, the keys of maps sorted; null for what is none.
func appendValue(dst []byte, v any) []byte {
	if o, isObject := v.(*machine.Object); isObject {
		return appendPairs(dst, o.Pairs)
	}
	out, err := eval.AppendJSON(dst, v)
	if err != nil {
		return append(dst, "null"...)
	}
	return out
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
