package keys

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type sample struct {
	Text    string         `key:"text" default:"none"`
	Count   int            `key:"count" default:"3" min:"1"`
	Share   float64        `key:"share" default:"0.5"`
	Heat    *float64       `key:"heat"`
	On      bool           `key:"on"`
	For     time.Duration  `key:"for"`
	Names   []string       `key:"names"`
	Map     map[string]any `key:"map"`
	List    []any          `key:"list"`
	Any     any            `key:"any"`
	Without int
}

func TestDecode(t *testing.T) {
	heat := 2.0
	for _, test := range []struct {
		values map[string]any
		want   sample
	}{
		{nil, sample{Text: "none", Count: 3, Share: 0.5}},
		{map[string]any{"text": nil, "count": nil}, sample{Text: "none", Count: 3, Share: 0.5}},
		{
			map[string]any{"text": 4, "count": 1.0, "share": 2, "heat": 2, "on": true, "for": "2s", "names": "a", "map": map[string]any{"a": 1}, "list": []any{1}, "any": "x"},
			sample{Text: "4", Count: 1, Share: 2, Heat: &heat, On: true, For: 2 * time.Second, Names: []string{"a"}, Map: map[string]any{"a": 1}, List: []any{1}, Any: "x"},
		},
		{map[string]any{"names": []any{"a", 2}}, sample{Text: "none", Count: 3, Share: 0.5, Names: []string{"a", "2"}}},
	} {
		var got sample
		if err := Decode(test.values, &got); err != nil || cmp.Diff(test.want, got) != "" {
			t.Errorf("%v: %v %s", test.values, err, cmp.Diff(test.want, got))
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for want, values := range map[string]map[string]any{
		`"text" is a list; a text is wanted`:                               {"text": []any{"a"}},
		`"count" is 0; a whole number from 1 to 2147483647 is wanted`:      {"count": 0},
		`"count" is 1.5; a whole number from 1 to 2147483647 is wanted`:    {"count": 1.5},
		`"count" is "many"; a whole number from 1 to 2147483647 is wanted`: {"count": "many"},
		`"share" is true; a number is wanted`:                              {"share": true},
		`"heat" is "hot"; a number is wanted`:                              {"heat": "hot"},
		`"on" is "yes"; a boolean is wanted`:                               {"on": "yes"},
		`"for" is "soon"; a duration such as 30s is wanted`:                {"for": "soon"},
		`"map" is a list; a map is wanted`:                                 {"map": []any{}},
		`"list" is a text; a list is wanted`:                               {"list": "a"},
	} {
		if err := Decode(values, new(sample)); err == nil || err.Error() != want {
			t.Errorf("%v: got %v, want %s", values, err, want)
		}
	}
}
