// A command of sessions that compares the event streams of a run.

package scripttest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// commandStreams implements `streams [-numbers] RECORDED LIVE...`. RECORDED is the output of `runs
// events`, LIVE are the events that the run's drivers emitted, one file per driver. Event numbers must
// rise in both. LIVE must have every event of RECORDED, except for times and, without -numbers, event
// numbers. RECORDED must have all calls of models and tools in LIVE, with their durations. Every
// execution that starts must end once.
func commandStreams(ts *testscript.TestScript, neg bool, args []string) {
	numbers := len(args) > 0 && args[0] == "-numbers"
	if numbers {
		args = args[1:]
	}
	if neg || len(args) < 2 {
		ts.Fatalf("usage: streams [-numbers] RECORDED LIVE...")
	}
	var live []map[string]any
	for _, name := range args[1:] {
		live = append(live, readStream(ts, name)...)
	}
	recorded := readStream(ts, args[0])
	known := map[string]int{}
	for _, event := range live {
		known[formatComparable(event, numbers)]++
	}
	for _, event := range recorded {
		text := formatComparable(event, numbers)
		if known[text]--; known[text] < 0 {
			ts.Fatalf("recorded, and not live: %s", formatJSON(event))
		}
	}
	for _, event := range live {
		if text := formatComparable(event, numbers); isCall(event) && known[text] > 0 {
			ts.Fatalf("live, and not recorded: %s", formatJSON(event))
		}
	}
	for _, stream := range [][]map[string]any{recorded, live} {
		if err := checkStream(stream); err != nil {
			ts.Fatalf("%v", err)
		}
	}
}

func readStream(ts *testscript.TestScript, name string) (events []map[string]any) {
	for line := range strings.Lines(ts.ReadFile(name)) {
		var event map[string]any
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			ts.Fatalf("%s: %v in line %s", name, err, line)
		}
		events = append(events, event)
	}
	return events
}

// isCall reports whether an event is a call of a model or a tool, whose duration is recorded.
func isCall(event map[string]any) bool {
	return event["event"] == "llm_usage" || event["event"] == "tool_called"
}

// formatComparable returns an event as text, without fields that depend on time.
func formatComparable(event map[string]any, number bool) string {
	out := maps.Clone(event)
	delete(out, "time")
	if !isCall(event) {
		delete(out, "duration_ms")
	}
	if !number {
		delete(out, "seq")
	}
	if list, ok := out["candidates"].([]any); ok { // a replay adds the values of conditions
		out["candidates"] = len(list)
	}
	return formatJSON(out)
}

// checkStream checks that event numbers rise and that every execution ends once. Each attempt has its
// own start event.
func checkStream(events []map[string]any) error {
	last, running := 0.0, map[string]bool{}
	for _, event := range events {
		seq, _ := event["seq"].(float64)
		if seq <= last {
			return fmt.Errorf("number %v comes after %v", seq, last)
		}
		last = seq
		key := fmt.Sprint(cmp.Or(event["place"], event["node"]), "@", event["branch"], "#", event["visit"])
		switch event["event"] {
		case "node_started":
			running[key] = true
		case "node_completed", "node_failed":
			if !running[key] {
				return fmt.Errorf("%s is not running and ends at %v", key, seq)
			}
			delete(running, key)
		}
	}
	if events[len(events)-1]["status"] == "paused" {
		return nil
	}
	for key := range running {
		return fmt.Errorf("%s has not ended", key)
	}
	return nil
}
