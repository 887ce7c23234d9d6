package eval

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// AppendJSON writes what encoding/json does.
func TestAppendJSON(t *testing.T) {
	leaf := rapid.OneOf(
		rapid.Just[any](nil), rapid.Map(rapid.Bool(), func(b bool) any { return b }), rapid.Map(rapid.Int(), func(n int) any { return n }),
		rapid.Map(rapid.Float64Range(-1e30, 1e30), func(f float64) any { return f }), rapid.Map(rapid.String(), func(s string) any { return s }),
		rapid.Just[any]("<a href=\"x\">\x7f\u2028 & \xff\n"),
	)
	value := rapid.Custom(func(t *rapid.T) any {
		inner := rapid.OneOf(
			leaf, rapid.Map(rapid.SliceOfN(leaf, 0, 3), func(l []any) any { return l }),
			rapid.Map(rapid.MapOfN(rapid.String(), leaf, 0, 12), func(m map[string]any) any { return m }),
		)
		return map[string]any{"a": inner.Draw(t, "a"), "b<": []any{inner.Draw(t, "b")}}
	})
	rapid.Check(t, func(t *rapid.T) {
		v := value.Draw(t, "value")
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(v); err != nil {
			t.Fatal(err)
		}
		got, err := AppendJSON([]byte("x"), v)
		if err != nil || string(got) != "x"+string(bytes.TrimSuffix(want.Bytes(), []byte("\n"))) {
			t.Fatalf("got %s, %v, want %s", got, err, want.Bytes())
		}
	})
	if _, err := AppendJSON(nil, map[string]any{"a": math.NaN()}); err == nil {
		t.Error("NaN is JSON")
	}
	if got, err := AppendJSON(nil, map[string]any(nil)); string(got) != "null" || err != nil {
		t.Errorf("nil map: %s, %v", got, err)
	}
}
