package spec

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// bothWays compares what the reader of JSON reads of a text with what the YAML library
// reads of it.
func bothWays(t *testing.T, text string) {
	t.Helper()
	if !isJSON([]byte(text)) {
		t.Fatalf("not read as JSON: %q", text)
	}
	file := NewFile("f.json", []byte(text))
	got, found := load(file, graphFile)
	want, wanted := loadYAML(file, graphFile)
	if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(found, wanted) {
		t.Errorf("%q reads as\n%+v %v, by the YAML library as\n%+v %v", text, got, found, want, wanted)
	}
}

func TestJSONReadsAsYAML(t *testing.T) {
	for _, text := range []string{
		"{}", " {\n}\r\n", `{"a":1}`, `{"a" : [ ] , "b":{ } , "c":[{}]}`, `{"a":[1,-0,1.5,1E5,1e400,123456789012345678901234567890,true,false,null,"null"]}`,
		`{"a":"x\n\"y\"\\ \u00e9\u2028","ä":"größer","":0}`, `{"a":1,"b":2,"a":3}`, `{"<<":{"x":1},"y":"{{ z }}"}`,
		`{"a":` + strings.Repeat("[", 99) + strings.Repeat("]", 99) + `}`, `{"a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`,
	} {
		bothWays(t, text)
	}
	for _, text := range []string{"[1]", `"a"`, "{a: 1}", `{"a":"\/"}`, `{"a":"\ud83d\ude00"}`, "{\t}", `{"a":1} x`, "{\"a\":\"\u2028\"}", ""} {
		if isJSON([]byte(text)) {
			t.Errorf("%q is read as JSON", text)
		}
	}
}

func TestRandomJSONReadsAsYAML(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var value func(depth int) any
	value = func(depth int) any {
		switch n := r.IntN(8); {
		case n < 2 && depth < 5:
			list := make([]any, r.IntN(5))
			for i := range list {
				list[i] = value(depth + 1)
			}
			return list
		case n < 5 && depth < 5:
			object := map[string]any{}
			for range r.IntN(16) {
				object[fmt.Sprint("k", r.IntN(40))] = value(depth + 1)
			}
			return object
		case n == 5:
			return r.NormFloat64() * 1000
		case n == 6:
			return []any{nil, true, false, 7, -1}[r.IntN(5)]
		}
		return []string{"", "a", "a b # c", "x: y", "{{ a }}", "é\n\"q\"\\", "- 1", "'"}[r.IntN(8)]
	}
	for range 300 {
		whole := map[string]any{"v": value(0)}
		text, err := json.Marshal(whole)
		if r.IntN(2) == 0 {
			text, err = json.MarshalIndent(whole, "", strings.Repeat(" ", 1+r.IntN(3)))
		}
		if err != nil {
			t.Fatal(err)
		}
		bothWays(t, string(text))
	}
}
