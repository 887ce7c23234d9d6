package engine

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a workflow goes on from arrives as it was sent, and what is no journal is
// refused.
func TestSeedTravels(t *testing.T) {
	for name, seed := range map[string]*Seed{
		"none":     nil,
		"empty":    {},
		"events":   {Events: []json.RawMessage{[]byte(`{"a":1}`), []byte(`{}`)}},
		"snapshot": {Base: 7, Previous: "before", Snapshot: []byte("head\nstate"), Events: []json.RawMessage{[]byte(`{"b":"\u00e4"}`)}},
	} {
		sent := &Start{Seed: seed}
		text, err := json.Marshal(sent)
		if err != nil {
			t.Fatal(err)
		}
		var got Start
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		snapshot := sent.snapshot()
		journal, err := sent.journal()
		if err != nil {
			t.Fatal(err)
		}
		if err := got.addJournal(snapshot, journal); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		empty := cmp.FilterValues(func(a, b []byte) bool { return len(a)+len(b) == 0 }, cmp.Ignore())
		if diff := cmp.Diff(seed, got.Seed, empty); diff != "" {
			t.Errorf("%s: sent (-), got (+):\n%s", name, diff)
		}
		if len(journal) < 3 {
			continue
		}
		if err := got.addJournal(snapshot, journal[:len(journal)-1]); err == nil {
			t.Errorf("%s: a journal without its end is taken", name)
		}
	}
}
