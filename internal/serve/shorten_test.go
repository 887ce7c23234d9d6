package serve

import (
	"encoding/json"
	"strings"
	"testing"
)

// A shortened text is JSON of the same shape, with the starts of long texts.
func TestShorten(t *testing.T) {
	for _, unit := range []string{"x", "ü", "𝄞", "\n", "\"", "\\", "\u2028", "a\\\"é\x01"} {
		for extra := range 7 { // ends anywhere in the unit
			long := strings.Repeat("y", extra) + strings.Repeat(unit, 90000)
			value := map[string]any{"short": unit, "long": []any{long, "after"}, "n": 1.0}
			data, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			got := shortenJSON(data, longText)
			if len(got) > 20<<10 {
				t.Fatalf("%q: %d bytes are left", unit, len(got))
			}
			var back map[string]any
			if err := json.Unmarshal(got, &back); err != nil {
				t.Fatalf("%q: %v", unit, err)
			}
			text := back["long"].([]any)[0].(string)
			kept, _, cut := strings.Cut(text, "… (")
			if !cut || !strings.HasPrefix(long, kept) || !strings.HasSuffix(text, " more bytes)") || len(kept) < 1000 {
				t.Errorf("%q becomes %q…%q", unit, text[:20], text[len(text)-40:])
			}
			if back["short"] != unit || back["long"].([]any)[1] != "after" || back["n"] != 1.0 {
				t.Errorf("%q: the rest is %v", unit, back["short"])
			}
		}
	}
	small := []byte(`{"a": "b"}`)
	if got := shortenJSON(small, longText); &got[0] != &small[0] {
		t.Error("a short text is copied")
	}
}
