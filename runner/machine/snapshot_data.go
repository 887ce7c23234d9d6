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
	"unicode/utf8"

	"github.com/graphrun/graphrun/eval"
)

// shareFrom is the size in bytes from which a value stands in the table of
// values. What refers to it says {"$": place}; an object whose only key is "$"
// stands in another one of that key.
const shareFrom = 256

// sharedKey marks references.
const sharedKey = "$"

// errTooLarge ends the writing of a snapshot that has become too large.
var errTooLarge = errors.New("the state is larger than allowed")

// packer writes values.
type packer struct {
	limit  int    // bytes
	values []byte // the table, entries with commas between them
	buf    []byte
	names  []string         // of the objects that are being written
	known  map[identity]int // places of lists and objects in the table
	places map[string]int   // and of what stands there
	err    error            // the first; after it nothing is written
}

// identity tells apart lists and objects of one state.
type identity struct {
	at     uintptr
	length int // of a list; -1 for objects
}

func newPacker(limit int) packer {
	return packer{limit: limit, known: map[identity]int{}, places: map[string]int{}}
}

// pack returns a value as JSON that refers to the table; nil for null.
func (k *packer) pack(v any) json.RawMessage {
	if v == nil {
		return nil
	}
	k.buf = k.buf[:0]
	k.append(v)
	if len(k.buf)+len(k.values) > k.limit {
		k.fail(errTooLarge)
	}
	return slices.Clone(k.buf)
}

func (k *packer) packList(list []any) []json.RawMessage {
	out := make([]json.RawMessage, len(list))
	for i, v := range list {
		out[i] = k.pack(v)
	}
	return out
}

func (k *packer) packMap(m map[string]any) map[string]json.RawMessage {
	if m == nil {
		return nil
	}
	out := make(map[string]json.RawMessage, len(m))
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

// append appends a value to buf.
func (k *packer) append(v any) {
	if k.err != nil {
		return
	}
	switch v := v.(type) {
	case nil:
		k.buf = append(k.buf, "null"...)
	case bool:
		k.buf = strconv.AppendBool(k.buf, v)
	case int:
		k.buf = strconv.AppendInt(k.buf, int64(v), 10)
	case float64:
		k.appendFloat(v)
	case string:
		k.appendText(v)
	case []any:
		k.shared(identity{reflect.ValueOf(v).Pointer(), len(v)}, func() { k.appendList(v) })
	case map[string]any:
		k.shared(identity{reflect.ValueOf(v).Pointer(), -1}, func() { k.appendObject(v) })
	case *Object:
		k.shared(identity{reflect.ValueOf(v).Pointer(), -1}, func() { k.appendObject(Plain(v).(map[string]any)) })
	default:
		plain, err := eval.Canonical(v)
		if err != nil {
			k.fail(fmt.Errorf("the state holds no plain data: %w", err))
			return
		}
		k.append(plain)
	}
}

// appendFloat writes a float so that it is read as one: whole ones beyond 2^53
// have an exponent.
func (k *packer) appendFloat(f float64) {
	if f == math.Trunc(f) {
		k.buf = strconv.AppendFloat(k.buf, f, 'e', -1, 64)
		return
	}
	k.buf = strconv.AppendFloat(k.buf, f, 'g', -1, 64)
}

func (k *packer) appendText(s string) {
	start := len(k.buf)
	k.quote(s)
	if len(s) > shareFrom && k.err == nil {
		k.share(start)
	}
}

// quote appends a JSON string.
func (k *packer) quote(s string) {
	if isPlain(s) {
		k.buf = append(append(append(k.buf, '"'), s...), '"')
		return
	}
	text, err := json.Marshal(s)
	if err != nil {
		k.fail(err)
		return
	}
	k.buf = append(k.buf, text...)
}

// isPlain says that a text stands in JSON as it is.
func isPlain(s string) bool {
	ascii := true
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ' || c == '"' || c == '\\':
			return false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return ascii || utf8.ValidString(s)
}

func (k *packer) appendList(list []any) {
	k.buf = append(k.buf, '[')
	for i, item := range list {
		if i > 0 {
			k.buf = append(k.buf, ',')
		}
		if k.append(item); k.err != nil {
			return
		}
	}
	k.buf = append(k.buf, ']')
}

func (k *packer) appendObject(m map[string]any) {
	first := len(k.names)
	for name := range m { //lint:ignore mapiter sorted below
		k.names = append(k.names, name)
	}
	names := k.names[first:]
	slices.Sort(names)
	defer func() { k.names = k.names[:first] }()
	if len(names) == 1 && names[0] == sharedKey {
		k.buf = append(k.buf, `{"`+sharedKey+`":`...)
		defer func() { k.buf = append(k.buf, '}') }()
	}
	k.buf = append(k.buf, '{')
	for i, name := range names {
		if i > 0 {
			k.buf = append(k.buf, ',')
		}
		k.quote(name)
		k.buf = append(k.buf, ':')
		k.append(m[name])
	}
	k.buf = append(k.buf, '}')
}

// shared writes a list or an object, as a reference when it is large.
func (k *packer) shared(id identity, write func()) {
	if at, ok := k.known[id]; ok && id.length != 0 {
		k.refer(at)
		return
	}
	start := len(k.buf)
	write()
	if len(k.buf)+len(k.values) > k.limit {
		k.fail(errTooLarge)
	}
	if k.err == nil && len(k.buf)-start > shareFrom {
		k.known[id] = k.share(start)
	}
}

// share moves what stands in buf from start on to the table, unless it is there.
func (k *packer) share(start int) int {
	at, ok := k.places[string(k.buf[start:])]
	if !ok {
		at = len(k.places)
		k.places[string(k.buf[start:])] = at
		if at > 0 {
			k.values = append(k.values, ',')
		}
		k.values = append(k.values, k.buf[start:]...)
	}
	k.buf = k.buf[:start]
	k.refer(at)
	return at
}

func (k *packer) refer(at int) {
	k.buf = append(k.buf, `{"`+sharedKey+`":`...)
	k.buf = append(strconv.AppendInt(k.buf, int64(at), 10), '}')
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

func (u *unpacker) unpackList(list []json.RawMessage) []any {
	out := make([]any, len(list))
	for i, text := range list {
		out[i] = u.unpack(text)
	}
	return out
}

func (u *unpacker) unpackMap(m map[string]json.RawMessage) map[string]any {
	if m == nil {
		return nil
	}
	out := make(map[string]any, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		out[name] = u.unpack(m[name])
	}
	return out
}

func (u *unpacker) valueAt(place int) any {
	if place < 0 || place >= len(u.values) {
		u.fail(fmt.Errorf("value %d is not in the table of %d", place, len(u.values)))
		return nil
	}
	return u.values[place]
}
