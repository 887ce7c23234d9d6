package eval

import (
	"strings"
	"testing"
)

func TestBrief(t *testing.T) {
	long := "data:image/png;base64," + strings.Repeat("QUJD", 1000)
	value := map[string]any{"a": []any{long, 1, "data:image/png;base64,QUJD"}, "b": "x " + long}
	if got := Text(Brief(value)); got != `{"a":["[image/png, 3.0 kB]",1,"data:image/png;base64,QUJD"],"b":"x `+long+`"}` {
		t.Errorf("got %s", got)
	}
	if value["a"].([]any)[0] != long {
		t.Error("the value was changed")
	}
}
