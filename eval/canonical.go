// The canonical form of plain data: one Go type per JSON value.

package eval

import (
	"encoding/json"
	"errors"
	"fmt"
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

// Canonical turns plain data into its canonical form: nil, bool, int, float64,
// string, []any and map[string]any, where whole numbers up to 2^53 are int and
// integers beyond 2^61 are float64. Other Go values (typed slices, maps,
// structs) go through reflection or their JSON form. A value that is canonical
// already is returned as it is, not copied; else only what changes is. NaN,
// infinities, nesting deeper than 1,000 and values without a JSON form are
// errors.
func Canonical(v any) (any, error) {
	c := canonizer{}
	out, _, err := c.value(v, 0)
	return out, err
}

// treeSize is the size of canonical data in bytes, roughly, when written out.
func treeSize(v any, limit int) (int, error) {
	c := canonizer{limit: limit}
	_, _, err := c.value(v, 0)
	return c.size, err
}

// Size is roughly the room that canonical data takes: 16 bytes for every value,
// and the bytes of its texts and of the names of its fields. A part counts
// wherever it stands, even if it is shared. What takes more than most does not
// fit; counting ends when that shows, and size is then most + 1.
func Size(v any, most int) (size int, fits bool) {
	if size, err := treeSize(v, most); err == nil && most > 0 {
		return size, true
	}
	return most + 1, false
}

// canonizer converts values. With a limit, which is how results of evaluations
// are converted, the size of the value as a tree is bounded, and an integer
// beyond 2^61 is an error instead of a float64: expressions can build values
// that share parts and are tiny in memory but endless when written out.
type canonizer struct{ size, limit int }

// bytesPerNode is what a value without its text counts in sizes.
const bytesPerNode = 16

func (c *canonizer) grow(v any) error {
	c.size += bytesPerNode
	if s, ok := v.(string); ok {
		c.size += len(s)
	}
	if c.size > c.limit {
		return errResultSize
	}
	return nil
}

// value returns the canonical form and whether it differs from v. What doesn't
// differ is v itself, so that nothing is boxed anew.
func (c *canonizer) value(v any, depth int) (out any, changed bool, err error) {
	if c.limit > 0 {
		if err := c.grow(v); err != nil {
			return nil, false, err
		}
	}
	switch x := v.(type) {
	case nil, bool, string:
		return v, false, nil
	case int:
		if x <= maxInt && x >= -maxInt {
			return v, false, nil
		}
		return c.bigInt(float64(x))
	case float64:
		out, changed, err = c.float(x)
	case []any:
		out, changed, err = c.list(x, depth)
	case map[string]any:
		out, changed, err = c.object(x, depth)
	default:
		out, err = c.other(v, depth)
		return out, true, err
	}
	if err == nil && !changed {
		return v, false, nil
	}
	return out, changed, err
}

func (c *canonizer) bigInt(f float64) (any, bool, error) {
	if c.limit > 0 {
		return nil, false, errTooBig
	}
	return f, true, nil
}

// float, list and object return nil when nothing changes.
func (c *canonizer) float(f float64) (any, bool, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, false, errNotFinite
	}
	if f == math.Trunc(f) && f >= -maxWhole && f <= maxWhole {
		return int(f), true, nil
	}
	return nil, false, nil
}

func (c *canonizer) list(v []any, depth int) (any, bool, error) {
	if depth >= maxDepth {
		return nil, false, errTooDeep
	}
	if v == nil {
		return []any{}, true, nil
	}
	out := v
	for i, e := range v {
		n, changed, err := c.value(e, depth+1)
		if err != nil {
			return nil, false, err
		}
		if !changed {
			continue
		}
		if len(out) > 0 && &out[0] == &v[0] {
			out = slices.Clone(v)
		}
		out[i] = n
	}
	if len(v) == 0 || &out[0] == &v[0] {
		return nil, false, nil
	}
	return out, true, nil
}

func (c *canonizer) object(v map[string]any, depth int) (any, bool, error) {
	if depth >= maxDepth {
		return nil, false, errTooDeep
	}
	if v == nil {
		return map[string]any{}, true, nil
	}
	var out map[string]any
	for k, e := range v {
		c.size += len(k)
		n, changed, err := c.value(e, depth+1)
		if err != nil {
			return nil, false, err
		}
		if !changed {
			continue
		}
		if out == nil {
			out = maps.Clone(v)
		}
		out[k] = n
	}
	if out == nil {
		return nil, false, nil
	}
	return out, true, nil
}

// other handles what Go callers may hand in.
func (c *canonizer) other(v any, depth int) (any, error) {
	if depth >= maxDepth {
		return nil, errTooDeep
	}
	plain, err := unwrap(v)
	if err != nil {
		return nil, err
	}
	out, _, err := c.value(plain, depth+1)
	return out, err
}

// unwrap is a Go value as plain data; what a list or a map holds may still be any value.
func unwrap(v any) (any, error) {
	switch v := v.(type) {
	case json.Number:
		if i, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return int(i), nil
		}
		f, err := strconv.ParseFloat(v.String(), 64)
		if err != nil {
			return nil, fmt.Errorf("number %q is beyond the range of a 64-bit float", v.String())
		}
		return f, nil
	case json.Marshaler:
		return throughJSON(v)
	}
	r := reflect.ValueOf(v)
	switch kind := r.Kind(); {
	case kind == reflect.Bool:
		return r.Bool(), nil
	case kind == reflect.String:
		return r.String(), nil
	case r.CanInt():
		return int(r.Int()), nil
	case r.CanUint() && r.Uint() <= maxInt:
		return int(r.Uint()), nil
	case r.CanUint():
		return float64(r.Uint()), nil
	case r.CanFloat():
		return r.Float(), nil
	case kind == reflect.Pointer && r.IsNil():
		return nil, nil
	case kind == reflect.Pointer:
		return r.Elem().Interface(), nil
	case kind == reflect.Array, kind == reflect.Slice && r.Type().Elem().Kind() != reflect.Uint8:
		out := make([]any, r.Len())
		for i := range out {
			out[i] = r.Index(i).Interface()
		}
		return out, nil
	case kind == reflect.Map && r.Type().Key().Kind() == reflect.String:
		out := make(map[string]any, r.Len())
		for it := r.MapRange(); it.Next(); {
			out[it.Key().String()] = it.Value().Interface()
		}
		return out, nil
	}
	return throughJSON(v)
}

// throughJSON converts structs and other types by the JSON form they declare.
func throughJSON(v any) (any, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("value of type %T has no JSON form: %w", v, err)
	}
	plain, err := decodeJSON(data)
	if err != nil {
		return nil, fmt.Errorf("value of type %T has no JSON form: %w", v, err)
	}
	return plain, nil
}
