package engine

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The seed of a new workflow arrives unchanged.
func TestSeedTravels(t *testing.T) {
	conv := newPlainConverter()
	for name, seed := range map[string]*Seed{
		"none":     nil,
		"empty":    {},
		"events":   {Events: []json.RawMessage{[]byte(`{"a":1.0e2}`), []byte(`{}`)}},
		"snapshot": {Earlier: []segment{{7, "d"}}, Snapshot: []byte("head\nstate"), Events: []json.RawMessage{[]byte(`{"b":"\u00e4"}`)}},
	} {
		sent := &Start{Seed: seed}
		payloads, err := conv.ToPayloads(sent.workflowArguments()...)
		if err != nil {
			t.Fatal(err)
		}
		var got Start
		var snapshot []byte
		var events []json.RawMessage
		if err := conv.FromPayloads(payloads, &got, &snapshot, &events); err != nil {
			t.Fatal(err)
		}
		if got.Seed != nil {
			got.Seed.Snapshot, got.Seed.Events = snapshot, events
		}
		empty := cmp.FilterValues(func(a, b []byte) bool { return len(a)+len(b) == 0 }, cmp.Ignore())
		none := cmp.FilterValues(func(a, b []json.RawMessage) bool { return len(a)+len(b) == 0 }, cmp.Ignore())
		if diff := cmp.Diff(seed, got.Seed, empty, none); diff != "" {
			t.Errorf("%s: sent (-), got (+):\n%s", name, diff)
		}
	}
}
