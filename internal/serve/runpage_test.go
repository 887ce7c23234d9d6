package serve

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
)

// TestRecord checks that the pieces of a record equal the page of the run, without the parts of
// conditions, which clients request by step.
func TestRecord(t *testing.T) {
	s := newTested(t, nil)
	s.call(201, "POST", "/runs", `{"flow":"counting.yaml","run_id":"r","input":{"most":400}}`)
	s.until("r", "completed")
	type part struct {
		Events    []any            `json:"events"`
		Decisions []map[string]any `json:"decisions"`
		Last      float64          `json:"last_event"`
	}
	var whole part
	answer, body := s.do(s.request("GET", prefix+"/runs/r/record", ""))
	pieces := bytes.Split(bytes.TrimSpace(body), []byte("\n"))
	for i, line := range pieces {
		var p part
		if err := json.Unmarshal(line, &p); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if (p.Last > 0) != (i == len(pieces)-1) || len(p.Events) > 500 {
			t.Errorf("piece %d of %d has %d events and ends at %v", i, len(pieces), len(p.Events), p.Last)
		}
		whole = part{append(whole.Events, p.Events...), append(whole.Decisions, p.Decisions...), p.Last}
	}
	page := s.call(200, "GET", "/runs/r/page", "")
	run := page["run"].(map[string]any)
	if len(pieces) < 4 || !reflect.DeepEqual(any(whole.Events), run["events"]) || any(whole.Last) != page["last_event"] {
		t.Errorf("%s, %d pieces with %d events to %v; the page has %d to %v", answer.Status, len(pieces), len(whole.Events), whole.Last, len(run["events"].([]any)), page["last_event"])
	}
	for i, d := range run["decisions"].([]any) {
		for _, c := range d.(map[string]any)["candidates"].([]any) {
			delete(c.(map[string]any), "test")
		}
		if !reflect.DeepEqual(any(whole.Decisions[i]), d) {
			t.Fatalf("decision %d is %v, the page has %v", i, whole.Decisions[i], d)
		}
	}
	brief := s.call(200, "GET", "/runs/r/page?brief=true", "")
	head := brief["run"].(map[string]any)
	if len(head["events"].([]any)) != 0 || len(head["decisions"].([]any)) != 0 || !reflect.DeepEqual(head["result"], run["result"]) || !reflect.DeepEqual(head["state"], run["state"]) {
		t.Errorf("the brief page has %v", head)
	}
}
