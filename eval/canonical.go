// The canonical form of plain data, one Go type per JSON value, and JSON in that form.

package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
)

// Numbers keep their meaning through a JSON round trip within these bounds.
const (
	maxInt   = 1 << 61 // |x| of an int
	maxWhole = 1 << 53 // |x| up to which a whole float64 becomes an int
	maxDepth = 1000    // of nested lists and objects
)

var (
	errNotFinite  = errors.New("number is not finite")
	errTooDeep    = errors.New("value is nested deeper than 1000 levels")
	errResultSize = errors.New("value is larger than 64 MiB")
	errTooBig     = errors.New("integer overflow: the result is beyond 2^61")
)

// Canonical converts a value to canonical plain data: nil, bool, int, float64, string, []any and
// map[string]any, with whole numbers up to 2^53 as int and integers beyond 2^61 as float64.
// Other Go values are converted by their JSON form. Only the parts that change are copied. NaN,
// infinities, nesting deeper than 1,000 and values without a JSON form are errors.
func Canonical(v any) (any, error) {
	var c canonizer
	if v, _ = c.convertValue(v, 0); c.err != nil {
		return nil, c.err
	}
	return v, nil
}

// treeSize returns roughly the size of canonical data in bytes when written out.
func treeSize(v any, limit int) (int, error) {
	c := canonizer{limit: limit}
	c.convertValue(v, 0)
	return c.size, c.err
}

// Open is a placeholder for a value that an analysis has not chosen yet. It passes every check
// of data. VM.Before replaces it where an expression reads it.
type Open struct{ Number int }

// Size returns roughly the memory that canonical data takes: 16 bytes for each value, and
// the bytes of texts and names. Shared parts count each time. A value larger than most
// does not fit, and its size is most + 1.
func Size(v any, most int) (size int, fits bool) {
	if size, err := treeSize(v, most); err == nil && most > 0 {
		return size, true
	}
	return most + 1, false
}

// canonizer converts values until its first error. A limit bounds the size of the value as
// a tree and refuses integers beyond 2^61. Expressions need it: a small value with shared
// parts may be huge as a tree.
type canonizer struct {
	size, limit int
	err         error
}

// bytesPerNode is the size of a value without its text.
const bytesPerNode = 16

// convertValue returns the canonical form, and whether it differs from v. It returns an unchanged
// value as v itself, to avoid copies and allocations.
func (c *canonizer) convertValue(v any, depth int) (out any, changed bool) {
	c.size += bytesPerNode
	if s, ok := v.(string); ok {
		c.size += len(s)
	}
	if c.limit > 0 && c.size > c.limit {
		return c.setError(errResultSize)
	}
	switch x := v.(type) {
	case nil, bool, string, Open:
		return v, false
	case int:
		switch {
		case x <= maxInt && x >= -maxInt:
			return v, false
		case c.limit > 0:
			return c.setError(errTooBig)
		}
		return float64(x), true
	case float64:
		switch {
		case math.IsNaN(x) || math.IsInf(x, 0):
			return c.setError(errNotFinite)
		case x == math.Trunc(x) && math.Abs(x) <= maxWhole:
			return int(x), true
		}
		return v, false
	}
	if depth >= maxDepth {
		return c.setError(errTooDeep)
	}
	list, _ := v.([]any)
	object, _ := v.(map[string]any)
	if list != nil || object != nil {
		return c.convertParts(v, depth)
	}
	plain, err := convertByJSON(v)
	if err != nil {
		return c.setError(err)
	}
	plain, _ = c.convertValue(plain, depth)
	return plain, true
}

func (c *canonizer) setError(err error) (any, bool) {
	c.err = err
	return nil, false
}

func (c *canonizer) convertParts(v any, depth int) (any, bool) {
	return MapParts(v, func(_ int, name string, part any) (any, bool) {
		if c.err != nil {
			return nil, false
		}
		c.size += len(name)
		return c.convertValue(part, depth+1)
	})
}

// MapParts returns a list or object with each element (by index) or member (by name) replaced by the
// result of f. It copies v only if f changes a part. It visits members in random order.
func MapParts(v any, f func(index int, name string, part any) (out any, changed bool)) (out any, changed bool) {
	out = v // a new interface value would allocate
	switch parts := v.(type) {
	case []any:
		for i, part := range parts {
			if n, differs := f(i, "", part); differs {
				if !changed {
					parts, changed = slices.Clone(parts), true
					out = parts
				}
				parts[i] = n
			}
		}
	case map[string]any:
		for name, part := range parts {
			if n, differs := f(0, name, part); differs {
				if !changed {
					parts, changed = maps.Clone(parts), true
					out = parts
				}
				parts[name] = n
			}
		}
	}
	return out, changed
}

// parseNumber converts a JSON number to an int, or else to a float64.
func parseNumber(n json.Number) (any, error) {
	if i, err := strconv.ParseInt(n.String(), 10, 64); err == nil {
		return int(i), nil
	}
	f, err := strconv.ParseFloat(n.String(), 64)
	if err != nil {
		return nil, fmt.Errorf("number %q is beyond the range of a 64-bit float", n.String())
	}
	return f, nil
}

// convertByJSON converts a Go value that is not plain data by way of its JSON form.
func convertByJSON(v any) (any, error) {
	number, isNumber := v.(json.Number)
	switch r := reflect.ValueOf(v); {
	case isNumber:
		return parseNumber(number)
	case r.Kind() == reflect.Slice && r.IsNil():
		return []any{}, nil
	case r.Kind() == reflect.Map && r.IsNil():
		return map[string]any{}, nil
	}
	data, err := json.Marshal(v)
	var plain any
	if err == nil {
		plain, err = ParseJSON(data)
	}
	if err != nil {
		return nil, fmt.Errorf("value of type %T has no JSON form: %w", v, err)
	}
	return plain, nil
}

// ParseJSON reads one JSON value as canonical data.
func ParseJSON(data []byte) (v any, err error) {
	err = DecodeJSON(data, &v)
	return v, err
}

// DecodeJSON reads one JSON value like json.Unmarshal. Values without a type become canonical
// data, because float64 would change integers beyond 2^53.
func DecodeJSON(data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return canonicalize(reflect.ValueOf(into))
}

// canonicalize converts all values without a type inside v.
func canonicalize(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Interface:
		if v.IsNil() || v.NumMethod() > 0 {
			return nil
		}
		plain, err := Canonical(v.Interface())
		if err == nil {
			v.Set(reflect.ValueOf(plain))
		}
		return err
	case reflect.Pointer:
		return canonicalize(v.Elem()) // does nothing for nil
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() {
				if err := canonicalize(field); err != nil {
					return err
				}
			}
		}
	case reflect.Slice:
		for i := 0; i < v.Len() && v.Type().Elem().Kind() != reflect.Uint8; i++ {
			if err := canonicalize(v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			item := reflect.New(v.Type().Elem()).Elem()
			item.Set(v.MapIndex(key))
			if err := canonicalize(item); err != nil {
				return err
			}
			v.SetMapIndex(key, item)
		}
	}
	return nil
}
