// Plain data as JSON, quicker than by reflection: a conversation is written anew for
// each call of a model.

package eval

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// AppendJSON appends plain data as one JSON value in the words of encoding/json, keys
// sorted and HTML left as it is. The error is that of a value that is no JSON.
func AppendJSON(dst []byte, v any) ([]byte, error) {
	var err error
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case int:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case string:
		return AppendString(dst, v), nil
	case []any:
		dst = append(dst, '[')
		for i, item := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = AppendJSON(dst, item); err != nil {
				return dst, err
			}
		}
		return append(dst, ']'), nil
	case map[string]any:
		if v != nil {
			return appendObject(dst, v)
		}
	}
	return appendEncoded(dst, v)
}

// AppendString appends a text as a JSON string; bytes that are no UTF-8 become U+FFFD.
func AppendString(dst []byte, s string) []byte {
	if isPlain(s) {
		return append(append(append(dst, '"'), s...), '"')
	}
	dst, _ = appendEncoded(dst, s) // every text can be written
	return dst
}

// appendEncoded appends what encoding/json makes of v.
func appendEncoded(dst []byte, v any) ([]byte, error) {
	b := bytes.NewBuffer(dst)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return dst, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func appendObject(dst []byte, m map[string]any) ([]byte, error) {
	var few [8]string
	names := slices.AppendSeq(few[:0], maps.Keys(m))
	slices.Sort(names)
	dst = append(dst, '{')
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = AppendJSON(append(AppendString(dst, name), ':'), m[name]); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

// isPlain reports whether a text stands in JSON as it is.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
