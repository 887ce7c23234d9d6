package node_test

import (
	"strings"
	"testing"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
)

const classify = `start: a
limits: {max_tokens: 100000}
nodes:
  a: {kind: llm, prompt: pa, retry: {max_attempts: 3, initial_interval: 1ms}, output: {type: object, properties: {n: {type: integer}}, required: [n]}}
  b: {kind: pass}
edges: [{from: a, to: END}, {from: a, to: b, condition: on_failure, when: "error.kind == 'invalid_output'"}, {from: b, to: END}]`

// After an invalid answer the node calls the model again and describes the problem. The run does
// not retry the node afterwards.
func TestStructuredOutput(t *testing.T) {
	for name, c := range map[string]struct {
		replies []string
		path    string
		calls   int
	}{
		"fits":          {[]string{`{"n": 1}`}, "a", 1},
		"fenced":        {[]string{"```json\n{\"n\": 1}\n```"}, "a", 1},
		"cut in fence":  {[]string{"```json\n{\"n\": 1}", `{"n": 2}`}, "a", 2}, // the rest may follow
		"fits later":    {[]string{"one", `{"n": "one"}`, `{"n": 1}`}, "a", 3},
		"never fits":    {[]string{"one", "two", "three", `{"n": 1}`}, "a b", 3},
		"a retry":       {[]string{"!503", "one", `{"n": 1}`}, "a", 3},
		"whole numbers": {[]string{`{"n": 1.0}`}, "a", 1},
	} {
		t.Run(name, func(t *testing.T) {
			chat := newChat(t, inOrder(c.replies...))
			result := runFlow(t, chat, classify, runner.Options{})
			if got := strings.Join(result.Path, " "); got != c.path || result.Status != machine.Completed {
				t.Errorf("path %q, %s, %v", got, result.Status, result.Error)
			}
			if len(chat.requests) != c.calls || result.Usage.LLMCalls != c.calls {
				t.Errorf("%d calls, %d counted; want %d", len(chat.requests), result.Usage.LLMCalls, c.calls)
			}
			if name == "fits later" && !strings.Contains(chat.requests[2].last(), `at "n"`) {
				t.Errorf("the model is told %q", chat.requests[2].last())
			}
			if chat.requests[0].Format == nil {
				t.Error("the provider is not told of the schema")
			}
		})
	}
}

// An answer for a string schema needs no quotes.
func TestStructuredText(t *testing.T) {
	chat := newChat(t, inOrder("maybe", " REJECT\n"))
	result := runFlow(t, chat, `start: a
nodes: {a: {kind: llm, prompt: pa, output: {type: string, enum: [ACCEPT, REJECT]}}}
edges: [{from: a, to: END}]`, runner.Options{})
	if result.Output != "REJECT" || len(chat.requests) != 2 {
		t.Errorf("output %v after %d calls, %v", result.Output, len(chat.requests), result.Error)
	}
}

// In a long conversation a summary permanently replaces the oldest turns. It never separates calls
// from their results.
func TestCompaction(t *testing.T) {
	long := strings.Repeat("x", 400)
	chat := newChat(t, inOrder("1"+long, "2"+long, "SUM", "3", "4"))
	result := runFlow(t, chat, `start: a
feedback_on_revisit: false
conversation: {compaction: {max_tokens: 150, keep_last: 2}}
nodes: {a: {kind: llm, prompt: "p{{ visits.a }}"}}
edges: [{from: a, to: a, when: visits.a < 4}, {from: a, to: END}]`, runner.Options{})
	if result.Status != machine.Completed {
		t.Fatal(result.Error)
	}
	got := chat.formatRequests()
	for i, want := range []string{
		"u:p1", "u:p1 | a:1" + long + " | u:p2", "u:user: p1\nassistant: 1" + long + "\n",
		"u:[Summary of the conversation so far]\nSUM | u:p2 | a:2" + long + " | u:p3",
		"u:[Summary of the conversation so far]\nSUM | u:p2 | a:2" + long + " | u:p3 | a:3 | u:p4",
	} {
		if i >= len(got) || got[i] != want {
			t.Errorf("request %d:\n%s\nwant\n%s", i, got[i], want)
		}
	}
}

// A router gets the path with its visits, and the state keys that the node lists in `see`, with
// secrets masked.
func TestRouterSeesPathAndState(t *testing.T) {
	n := 0
	chat := newChat(t, func(string) string {
		n++
		return `{"target": "` + map[bool]string{true: "work", false: "END"}[n < 3] + `", "reasoning": "r"}`
	})
	result := runFlow(t, chat, `start: lead
state: {count: {type: integer, default: 0}, key: {type: string, secret: true, default: open-sesame}, other: {type: string, default: unseen}}
nodes:
  lead: {kind: pass, decide: {see: [count, key], instructions: Stop at two.}}
  work: {kind: set, set: {count: count + 1}}
edges:
  - {from: lead, to: work, condition: llm_decide}
  - {from: lead, to: END, condition: llm_decide, fallback: true}
  - {from: work, to: lead}`, runner.Options{})
	if result.Status != machine.Completed || strings.Join(result.Path, " ") != "lead work lead work lead" {
		t.Fatalf("%s %v: %v", result.Status, result.Path, result.Error)
	}
	asked := chat.requests[2].last()
	for _, want := range []string{"lead → work → lead → work → lead", "Visits: lead 3, work 2", "\n\nWhat is known besides:\n- count: 2\n- key: ***\n\n", "Stop at two."} {
		if !strings.Contains(asked, want) {
			t.Errorf("the router is not told %q:\n%s", want, asked)
		}
	}
	for _, not := range []string{"sesame", "unseen"} {
		if strings.Contains(asked, not) {
			t.Errorf("the router is told %q:\n%s", not, asked)
		}
	}
}

// The router is asked once for all llm_decide edges. It is asked again after an answer that names
// no candidate, and after a transient failure.
func TestDecide(t *testing.T) {
	const flow = `start: a
goal: win
nodes: {a: {kind: set, set: {x: "'facts'"}}, b: {kind: pass, description: look it up}, c: {kind: pass}}
state: {x: {type: string}}
edges:
  - {from: a, to: b, condition: llm_decide}
  - {from: a, to: c, condition: llm_decide, description: answer, fallback: true}
  - {from: [b, c], to: END}`
	for name, c := range map[string]struct {
		replies []string
		path    string
		quality machine.Quality
		calls   int
	}{
		"chosen":        {[]string{`{"target": "b", "reasoning": "why not"}`}, "a b", machine.Clean, 1},
		"no reason":     {[]string{`{"target": "b"}`}, "a b", machine.Clean, 1},
		"chosen later":  {[]string{`{"target": "mars", "reasoning": "x"}`, `{"target": "b", "reasoning": "x"}`}, "a b", machine.Clean, 2},
		"never":         {[]string{"b", "b", "b"}, "a c", machine.Degraded, 3},
		"refused":       {[]string{"!401"}, "a c", machine.Degraded, 1},
		"passes itself": {[]string{"!503", `{"target": "b", "reasoning": "x"}`}, "a b", machine.Clean, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			chat := newChat(t, inOrder(c.replies...))
			result := runFlow(t, chat, flow, runner.Options{})
			if got := strings.Join(result.Path, " "); got != c.path || result.Quality != c.quality {
				t.Errorf("path %q, %s, %v", got, result.Quality, result.Error)
			}
			if len(chat.requests) != c.calls || result.Usage.LLMCalls != c.calls {
				t.Errorf("%d calls, %d counted", len(chat.requests), result.Usage.LLMCalls)
			}
			asked := chat.requests[0].system() + chat.requests[0].Messages[1].Content.(string)
			for _, want := range []string{"Goal: win", `{"x":"facts"}`, "- b: look it up", "- c: answer"} {
				if !strings.Contains(asked, want) {
					t.Errorf("the router is not told %q:\n%s", want, asked)
				}
			}
		})
	}
}
