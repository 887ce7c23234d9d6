// Plain data in snapshots: every large value once, however many places of the
// state share it.

package machine

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/eval"
)

// shareFrom is the size in bytes from which a value stands in the table of
// values. What refers to it says {"$": place}; an object whose only key is "$"
// stands in another one of that key.
const shareFrom = 256

// sharedKey marks references.
const sharedKey = "$"

var (
	// errTooLarge ends the writing of a snapshot that has become too large.
	errTooLarge = errors.New("the state is larger than allowed")
	// What is wrong with values does not say where, so that it is the same
	// whichever of them is met first.
	errNumber    = errors.New("a number of it is out of range")
	errReference = errors.New("it refers to a value that is not in its table")
)

// packer turns values into what encoding/json writes as they are to be read.
type packer struct {
	limit  int              // bytes
	values []byte           // the table, entries with commas between them
	open   int              // bytes, at least, of what is being packed and not in the table
	known  map[identity]int // places of lists and objects in the table
	places map[string]int   // and of what stands there
	err    error            // the first; after it nothing is packed
}

// identity tells apart lists and objects of one state.
type identity struct {
	at     uintptr
	length int // of a list; -1 for objects
}

func newPacker(limit int) packer {
	return packer{limit: limit, known: map[identity]int{}, places: map[string]int{}}
}

// pack returns a value in which references stand for what is in the table.
func (k *packer) pack(v any) any {
	k.open = 0
	out, _ := k.value(v)
	return out
}

func (k *packer) packList(list []any) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = k.pack(v)
	}
	return out
}

func (k *packer) packMap(m map[string]any) map[string]any {
	if m == nil {
		return nil
	}
	out := make(map[string]any, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		out[name] = k.pack(m[name])
	}
	return out
}

func (k *packer) fail(err error) {
	if k.err == nil {
		k.err = err
	}
}

// value packs a value, and tells about how many bytes that is.
func (k *packer) value(v any) (packed any, size int) {
	if k.err != nil {
		return nil, 0
	}
	switch v := v.(type) {
	case nil, bool, int:
		return v, k.took(1)
	case float64:
		return floatText(v), k.took(3)
	case string:
		if size = k.took(len(v) + 2); size > shareFrom {
			return k.share(v, size)
		}
		return v, size
	case []any:
		return k.shared(identity{reflect.ValueOf(v).Pointer(), len(v)}, func() (any, int) { return k.list(v) })
	case map[string]any:
		return k.shared(identity{reflect.ValueOf(v).Pointer(), -1}, func() (any, int) { return k.object(v) })
	case *Object:
		return k.shared(identity{reflect.ValueOf(v).Pointer(), -1}, func() (any, int) { return k.object(Plain(v).(map[string]any)) })
	}
	plain, err := eval.Canonical(v)
	if err != nil {
		k.fail(fmt.Errorf("the state holds no plain data: %w", err))
		return nil, 0
	}
	return k.value(plain)
}

// took counts bytes, and ends the packing when they are too many.
func (k *packer) took(size int) int {
	if k.open += size; k.open > k.limit-len(k.values) {
		k.fail(errTooLarge)
	}
	return size
}

// floatText is a float that is read as one: whole ones have an exponent.
func floatText(f float64) json.Number {
	if f == math.Trunc(f) {
		return json.Number(strconv.FormatFloat(f, 'e', -1, 64))
	}
	return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
}

func (k *packer) list(list []any) (packed any, size int) {
	out := make([]any, len(list))
	size = k.took(2)
	for i, item := range list {
		value, n := k.value(item)
		out[i] = value
		size += n + k.took(1)
	}
	return out, size
}

func (k *packer) object(m map[string]any) (packed any, size int) {
	out := make(map[string]any, len(m))
	size = k.took(2)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		value, n := k.value(m[name])
		out[name] = value
		size += n + k.took(len(name)+4)
	}
	if _, only := out[sharedKey]; only && len(out) == 1 {
		return map[string]any{sharedKey: out}, size
	}
	return out, size
}

// shared packs a list or an object, as a reference when it is large.
func (k *packer) shared(id identity, pack func() (any, int)) (packed any, size int) {
	if at, ok := k.known[id]; ok && id.length != 0 {
		return k.refer(at)
	}
	if packed, size = pack(); k.err != nil || size <= shareFrom {
		return packed, size
	}
	packed, size = k.share(packed, size)
	if at, ok := packed.(reference); ok {
		k.known[id] = int(at)
	}
	return packed, size
}

// share moves a packed value of that size to the table, unless it is there.
func (k *packer) share(packed any, size int) (any, int) {
	k.open -= size
	text, err := json.Marshal(packed)
	if err != nil {
		k.fail(err)
		return nil, 0
	}
	at, ok := k.places[string(text)]
	if !ok {
		at = len(k.places)
		k.places[string(text)] = at
		if at > 0 {
			k.values = append(k.values, ',')
		}
		k.values = append(k.values, text...)
	}
	return k.refer(at)
}

func (k *packer) refer(at int) (packed any, size int) {
	return reference(at), k.took(len(`{"$":0}`))
}

// reference is a place in the table.
type reference int

// MarshalJSON writes {"$": place}.
func (r reference) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]int{sharedKey: int(r)})
}

// unpacker reads values.
type unpacker struct {
	values []any
	err    error // the first
}

func (u *unpacker) fail(err error) {
	if u.err == nil {
		u.err = err
	}
}

// unpack takes what pack gave after encoding/json has written and read it, with
// numbers as they were written, and changes it into the value.
func (u *unpacker) unpack(packed any) any {
	switch v := packed.(type) {
	case json.Number:
		return u.number(string(v))
	case []any:
		return u.unpackList(v)
	case map[string]any:
		inner, shared := v[sharedKey]
		if !shared || len(v) != 1 {
			return u.unpackMap(v)
		}
		switch inner := inner.(type) {
		case json.Number:
			return u.valueAt(inner)
		case map[string]any:
			return u.unpackMap(inner)
		}
		u.fail(errReference)
		return nil
	}
	return packed
}

// number reads a number by its form: floats have a point or an exponent.
func (u *unpacker) number(text string) any {
	if strings.ContainsAny(text, ".eE") {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			u.fail(errNumber)
		}
		return f
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		u.fail(errNumber)
	}
	return n
}

// unpackList has no room for more: whoever appends to a list that others share
// copies it.
func (u *unpacker) unpackList(list []any) []any {
	for i, packed := range list {
		list[i] = u.unpack(packed)
	}
	return slices.Clip(list)
}

func (u *unpacker) unpackMap(m map[string]any) map[string]any {
	for name, packed := range m { //lint:ignore mapiter each by itself, and any error says the same
		m[name] = u.unpack(packed)
	}
	return m
}

func (u *unpacker) valueAt(text json.Number) any {
	place, err := strconv.Atoi(string(text))
	if err != nil || place < 0 || place >= len(u.values) {
		u.fail(errReference)
		return nil
	}
	return u.values[place]
}
