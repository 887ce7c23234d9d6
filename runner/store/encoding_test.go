package store_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// The hand-written encoding of the most frequent event equals that of encoding/json.
func TestEncodeAdvanced(t *testing.T) {
	for _, e := range []machine.Event{
		{Kind: machine.Advanced},
		{Kind: machine.Advanced, At: 1},
		{Kind: machine.Advanced},
		{Kind: machine.Advanced, At: 1e18},
		{Kind: machine.Advanced, At: -1},
		{Kind: machine.Advanced, At: 5, Edit: map[string]any{"a": 1}},
	} {
		texts, err := store.EncodeEvents([]machine.Event{e})
		got := slices.Concat(texts...)
		want, bad := json.Marshal(e)
		if err != nil || bad != nil || string(got) != string(want) {
			t.Errorf("%s, want %s (%v, %v)", got, want, err, bad)
		}
		back, err := store.DecodeEvent(got)
		if err != nil || !reflect.DeepEqual(back, e) {
			t.Errorf("%s comes back as %+v (%v)", got, back, err)
		}
	}
}
