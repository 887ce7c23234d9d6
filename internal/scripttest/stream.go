// A command of the sessions that compares the event streams of a run.

package scripttest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// commandStreams is `streams [-numbers] TOLD LIVE...`: TOLD is what `runs events`
// tells of a run, the others what its drivers told as it happened, one after the
// other. The numbers rise in both; what TOLD has, LIVE has in the same words, times
// apart, with -numbers under the same number (what happens at once may be told in
// another order); TOLD has all calls of models and tools that LIVE has, with how long
// they took; and every execution that starts ends once.
func commandStreams(ts *testscript.TestScript, neg bool, args []string) {
	numbers := len(args) > 0 && args[0] == "-numbers"
	if numbers {
		args = args[1:]
	}
	if neg || len(args) < 2 {
		ts.Fatalf("usage: streams [-numbers] TOLD LIVE...")
	}
	var live []map[string]any
	for _, name := range args[1:] {
		live = append(live, streamOf(ts, name)...)
	}
	told := streamOf(ts, args[0])
	known := map[string]int{}
	for _, event := range live {
		known[untimed(event, numbers)]++
	}
	for _, event := range told {
		text := untimed(event, numbers)
		if known[text]--; known[text] < 0 {
			ts.Fatalf("told, and not live: %s", textOfJSON(event))
		}
	}
	for _, event := range live {
		if text := untimed(event, numbers); isCall(event) && known[text] > 0 {
			ts.Fatalf("told live, and not again: %s", textOfJSON(event))
		}
	}
	for _, stream := range [][]map[string]any{told, live} {
		if err := checkStream(stream); err != nil {
			ts.Fatalf("%v", err)
		}
	}
}

func streamOf(ts *testscript.TestScript, name string) (events []map[string]any) {
	for line := range strings.Lines(ts.ReadFile(name)) {
		var event map[string]any
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			ts.Fatalf("%s: %v in line %s", name, err, line)
		}
		events = append(events, event)
	}
	return events
}

// isCall reports whether an event tells a call, which is noted with how long it took.
func isCall(event map[string]any) bool {
	return event["event"] == "llm_usage" || event["event"] == "tool_called"
}

// untimed is the text of an event without what times decide.
func untimed(event map[string]any, number bool) string {
	out := maps.Clone(event)
	delete(out, "time")
	if !isCall(event) {
		delete(out, "duration_ms")
	}
	if !number {
		delete(out, "seq")
	}
	if list, ok := out["candidates"].([]any); ok { // a replay says what each part came to
		out["candidates"] = len(list)
	}
	return textOfJSON(out)
}

// checkStream checks that numbers rise and that what starts ends once. A further attempt
// is told as another start.
func checkStream(events []map[string]any) error {
	last, runs := 0.0, map[string]bool{}
	for _, event := range events {
		seq, _ := event["seq"].(float64)
		if seq <= last {
			return fmt.Errorf("number %v comes after %v", seq, last)
		}
		last = seq
		of := fmt.Sprint(cmp.Or(event["place"], event["node"]), "@", event["branch"], "#", event["visit"])
		switch event["event"] {
		case "node_started":
			runs[of] = true
		case "node_completed", "node_failed":
			if !runs[of] {
				return fmt.Errorf("%s is not running and ends at %v", of, seq)
			}
			delete(runs, of)
		}
	}
	if events[len(events)-1]["status"] == "paused" {
		return nil
	}
	for of := range runs {
		return fmt.Errorf("%s has not ended", of)
	}
	return nil
}
