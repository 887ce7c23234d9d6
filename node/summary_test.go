package node_test

import (
	"strings"
	"testing"

	"github.com/graphrun/graphrun/runner"
)

// A summary follows the schema of the graph. The model is asked again for one that does not, and
// without a valid summary the list is sent whole.
func TestSummaryOfSchema(t *testing.T) {
	const flow = `start: a
conversation: {compaction: {max_tokens: 20, keep_last: 1, output: {type: object, properties: {facts: {type: array}}, required: [facts]}}}
nodes: {a: {kind: llm, prompt: "a first question that is long enough for a summary of it"}, b: {kind: llm, prompt: two}}
edges: [{from: a, to: b}, {from: b, to: END}]`
	for name, test := range map[string]struct {
		answers string
		calls   int
		told    string
	}{
		"fits":         {`{"facts": [1]}`, 3, `{"facts":[1]}`},
		"fits at last": {`none|{"facts": 1}|{"facts": []}`, 5, `{"facts":[]}`},
		"never fits":   {`none|none|none`, 5, "a first question"},
	} {
		answers := strings.Split(test.answers, "|")
		var asked int
		chat := newChat(t, nil)
		chat.reply = func(string) string {
			if chat.requests[len(chat.requests)-1].Format == nil {
				return "a long answer to that"
			}
			asked++
			return answers[asked-1]
		}
		result := runFlow(t, chat, flow, runner.Options{})
		if result.Error != nil || len(chat.requests) != test.calls {
			t.Errorf("%s: %v, %d calls", name, result.Error, len(chat.requests))
			continue
		}
		if got := chat.requests[test.calls-1].formatMessages(); !strings.Contains(got, test.told) {
			t.Errorf("%s: told %s", name, got)
		}
	}
}
