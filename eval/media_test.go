package eval

import (
	"strings"
	"testing"
)

func TestRenderParts(t *testing.T) {
	env := testEnv()
	env["input"] = map[string]any{
		"s": "x", "pic": map[string]any{"image": "a.png"}, "text": map[string]any{"text": "t"},
		"list": []any{"see", map[string]any{"file": "b.pdf", "name": "b"}},
		"deep": map[string]any{"n": 1, "rows": []any{map[string]any{"audio": "data:audio/wav;base64,QUJD"}, map[string]any{"image": "path.png"}}},
		"more": map[string]any{"image": "a.png", "id": "7"},
	}
	var v VM
	for _, c := range []struct{ src, want string }{
		{"plain", `"plain"`},
		{"a {{ input.s }}", `"a x"`},
		{"{{ input.pic }}", `{"image":"a.png"}`},
		{"Look: {{ input.pic }}", `["Look: ",{"image":"a.png"}]`},
		{"{{ input.pic }}, {{ input.s }} {{ input.pic }}.", `[{"image":"a.png"},", x ",{"image":"a.png"},"."]`},
		{"I {{ input.list }}", `["I see",{"file":"b.pdf","name":"b"}]`},
		{"t {{ input.text }}", `"t {\"text\":\"t\"}"`},
		{"m {{ input.more }}", `"m {\"id\":\"7\",\"image\":\"a.png\"}"`},
		{"d {{ input.deep }}!", `["d {\"n\":1,\"rows\":[\"[audio 1]\",{\"image\":\"path.png\"}]}",{"audio":"data:audio/wav;base64,QUJD"},"!"]`},
	} {
		tpl, err := testScope().Template(c.src)
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		out, rerr := v.Render(tpl, env, true)
		if rerr != nil || encodeJSON(out) != c.want {
			t.Errorf("%s: got %s, %v, want %s", c.src, encodeJSON(out), rerr, c.want)
		}
		if text, rerr := v.Render(tpl, env, false); rerr != nil || len(tpl.Parts) > 1 && encodeJSON(text)[0] != '"' {
			t.Errorf("%s as a text: %v, %v", c.src, text, rerr)
		}
	}
	if _, ok := env["input"].(map[string]any)["deep"].(map[string]any)["rows"].([]any)[0].(map[string]any); !ok {
		t.Error("the value has changed")
	}
}

func TestBrief(t *testing.T) {
	long := "data:image/png;base64," + strings.Repeat("QUJD", 1000)
	value := map[string]any{"a": []any{long, 1, "data:image/png;base64,QUJD"}, "b": "x " + long}
	if got := Text(ShortenURIs(value)); got != `{"a":["[image/png, 3.0 kB]",1,"data:image/png;base64,QUJD"],"b":"x `+long+`"}` {
		t.Errorf("got %s", got)
	}
	if value["a"].([]any)[0] != long {
		t.Error("the value was changed")
	}
}
