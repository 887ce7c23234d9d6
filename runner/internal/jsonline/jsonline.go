// Package jsonline appends JSON to a buffer: plain data, and what events have in common.
// It is written by hand because it runs several times a step.
package jsonline

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"

	"github.com/graphrun/graphrun/eval"
)

// Names appends a list of texts.
func Names(dst []byte, names []string) []byte {
	dst = append(dst, '[')
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = eval.AppendString(dst, name)
	}
	return append(dst, ']')
}

// IntKey appends a key, written as `,"key":`, and its number; nothing for 0.
func IntKey(dst []byte, key string, n int) []byte {
	if n == 0 {
		return dst
	}
	return Int(append(dst, key...), n)
}

// TextKey appends a key, written as `,"key":`, and its text; nothing when that is empty.
func TextKey(dst []byte, key, text string) []byte {
	if text == "" {
		return dst
	}
	return eval.AppendString(append(dst, key...), text)
}

// ValueKey appends a key, written as `,"key":`, and plain data.
func ValueKey(dst []byte, key string, v any) []byte {
	return Value(append(dst, key...), v)
}

// Value appends plain data, the keys of maps sorted; null for what is none.
func Value(dst []byte, v any) []byte {
	out, err := eval.AppendJSON(dst, v)
	if err != nil {
		return append(dst, "null"...)
	}
	return out
}

// Time appends an RFC 3339 time in UTC with microseconds.
func Time(dst []byte, t time.Time) []byte {
	dst = t.UTC().AppendFormat(dst, time.RFC3339) // the layout that package time knows by heart
	point := len(dst) - len("Z")
	dst = Int(dst[:point], 1_000_000+t.Nanosecond()/1000)
	dst[point] = '.'
	return append(dst, 'Z')
}

// Int appends a number.
func Int(dst []byte, n int) []byte { return strconv.AppendInt(dst, int64(n), 10) }

// Marshalled appends what encoding/json makes of v, HTML left alone.
func Marshalled(dst []byte, v any) []byte {
	buffer := bytes.NewBuffer(dst)
	encoder := json.NewEncoder(buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return append(dst, "null"...)
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))
}
