package node_test

import (
	"strings"
	"testing"

	"github.com/graphrun/graphrun/model/modeltest"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
)

// If the worst case of a call exceeds the budget, the run ends with status limit before the call.
// Its result counts all earlier calls.
func TestBudget(t *testing.T) {
	const loop = `start: a
limits: {max_tokens: %s}
nodes: {a: {kind: llm, prompt: hi, feedback: false, conversation: isolated%s}}
edges: [{from: a, to: a, when: visits.a < 5}, {from: a, to: END}]`
	for name, c := range map[string]struct {
		limit, node string
		calls       int
	}{
		"enough":                      {"75", ", max_tokens: 5", 5},
		"three calls of 15":           {"50", ", max_tokens: 5", 3},
		"the worst case of the first": {"50", ", max_tokens: 50", 0},
		"an answer of any length":     {"31", "", 2},
	} {
		t.Run(name, func(t *testing.T) {
			chat := newChat(t, func(string) string { return "ok" })
			result := runFlow(t, chat, fillFlow(loop, c.limit, c.node), runner.Options{})
			if c.calls == 5 {
				if result.Status != machine.Completed {
					t.Errorf("%s: %v", result.Status, result.Error)
				}
			} else if result.Status != machine.Limit || result.Reason != "budget" || !strings.Contains(result.Error.Message, "limits.max_tokens ("+c.limit+")") {
				t.Errorf("%s, reason %s: %v", result.Status, result.Reason, result.Error)
			}
			if len(chat.requests) != c.calls || result.Usage.LLMCalls != c.calls || result.Usage.InputTokens != 10*c.calls {
				t.Errorf("%d calls; counted: %+v", len(chat.requests), result.Usage)
			}
		})
	}
}

// If a judge's call does not fit the budget, the run ends with the reason budget, not with a failed
// judge.
func TestBudgetOfJudge(t *testing.T) {
	chat := newChat(t, func(string) string { return "ok" })
	result := runFlow(t, chat, `start: a
limits: {max_tokens: 60}
nodes: {a: {kind: agent, prompt: hi, max_tokens: 5, judge: {criteria: nice}}}
edges: [{from: a, to: END}]`, runner.Options{})
	if result.Status != machine.Limit || result.Reason != "budget" || !strings.Contains(result.Error.Message, "limits.max_tokens (60)") {
		t.Errorf("%s, reason %s: %v", result.Status, result.Reason, result.Error)
	}
	if len(chat.requests) != 1 {
		t.Errorf("%d calls, want that of the agent", len(chat.requests))
	}
}

// Without a known price the cost is unknown, and a limit of the cost can't be enforced.
func TestUnknownPrice(t *testing.T) {
	chat := newChat(t, func(string) string { return "ok" })
	result := runFlow(t, chat, "start: a\nnodes: {a: {kind: llm, prompt: hi}}\nedges: [{from: a, to: END}]", runner.Options{})
	if result.Usage.CostUSD != nil {
		t.Errorf("the cost is %v", *result.Usage.CostUSD)
	}
	result = runFlow(t, chat, "start: a\nlimits: {max_cost_usd: 1}\nnodes: {a: {kind: llm, prompt: hi}}\nedges: [{from: a, to: END}]", runner.Options{})
	if result.Reason != "budget" || !strings.Contains(result.Error.Message, "price of the model is not known") {
		t.Errorf("%s: %v", result.Reason, result.Error)
	}
	if c := result.Usage.CostUSD; c == nil || *c != 0 {
		t.Errorf("no call has cost %v", c)
	}
}

// Negative or absurdly large counts of a server neither return nor use up budget: the usage is
// estimated instead.
func TestImpossibleUsage(t *testing.T) {
	const loop = `start: a
limits: {max_tokens: 400}
nodes: {a: {kind: llm, prompt: hi, max_tokens: 5, feedback: false, conversation: isolated}}
edges: [{from: a, to: a, when: visits.a < 3}, {from: a, to: END}]`
	for _, usage := range []map[string]any{
		{"prompt_tokens": -1000, "completion_tokens": 5},
		{"prompt_tokens": 10, "completion_tokens": -5},
		{"prompt_tokens": 4_000_000_000_000_000_000, "completion_tokens": 4_000_000_000_000_000_000},
		{"prompt_tokens": 0, "completion_tokens": 0},
		{"prompt_tokens": 0, "completion_tokens": 5},
		{"prompt_tokens": 10, "completion_tokens": 0},
	} {
		chat := newChat(t, func(string) string { return "ok" })
		chat.usage = usage
		result := runFlow(t, chat, loop, runner.Options{})
		if u := result.Usage; result.Status != machine.Completed || u.InputTokens <= 0 || u.OutputTokens <= 0 || u.InputTokens+u.OutputTokens > 400 || !u.Estimated {
			t.Errorf("%v: %s (%v), counted %+v", usage, result.Status, result.Error, u)
		}
	}
}

// A limit applies even if the server reports no usage: the usage is estimated.
func TestLimitWithoutUsage(t *testing.T) {
	chat, calls := endingServer(t, `{"content":"a text of some length"}`, "stop")
	result := runFlow(t, chat, `limits: {max_tokens: 300, max_steps: 60}
start: a
nodes: {a: {kind: llm, prompt: "say something, please", conversation: isolated, feedback: false, max_tokens: 20}}
edges: [{from: a, to: a}]`, runner.Options{})
	if result.Error == nil || result.Error.Kind != "budget" || *calls > 15 {
		t.Errorf("%v after %d calls", result.Error, *calls)
	}
}

// If a server can't list its tools, the node fails with kind tool and the server's stderr.
func TestServerThatDoesNotStart(t *testing.T) {
	chat := newChat(t, inOrder("never"))
	for _, kind := range []string{"llm", "agent"} {
		result := runFlow(t, chat, `start: a
tools: {s: {mcp: {command: [sh, -c, "echo no token >&2; exit 1"]}}}
nodes: {a: {kind: `+kind+`, prompt: go, tools: ["s.*"]}}
edges: [{from: a, to: END}]`, runner.Options{})
		if result.Error == nil || result.Error.Kind != "tool" || !strings.Contains(result.Error.Message, "no token") {
			t.Errorf("%s: %v", kind, result.Error)
		}
	}
}

// The cost of calls follows the provider's declared prices, with a separate price for cached
// tokens.
func TestDeclaredPrices(t *testing.T) {
	chat := newChat(t, func(string) string { return "ok" })
	chat.usage = map[string]any{"prompt_tokens": 1000, "completion_tokens": 100, "prompt_tokens_details": map[string]any{"cached_tokens": 400}, "completion_tokens_details": map[string]any{"reasoning_tokens": 60}}
	chat.more = ", prices: {m: {input: 2, cached_input: 0.5, output: 10}}"
	result := runFlow(t, chat, `start: a
limits: {max_cost_usd: 1}
nodes: {a: {kind: llm, prompt: hi, max_tokens: 100}}
edges: [{from: a, to: END}]`, runner.Options{})
	u := result.Usage
	if want := (600*2 + 400*0.5 + 100*10) / 1e6; u.CostUSD == nil || *u.CostUSD != want || u.CachedTokens != 400 || u.ReasoningTokens != 60 {
		t.Errorf("%v: counted %+v", result.Error, u)
	}
}

// The provider charges for an interrupted call, so its usage is estimated for the result and for
// limits.
func TestCutCallsCount(t *testing.T) {
	chat := newChat(t, func(string) string { return "never" })
	chat.url = modeltest.ServeAndHang(t, "../model/openai/testdata/text-stream.http", 4)
	chat.more = ", timeout: 20ms, prices: {m: {input: 1, output: 1}}"
	const flow = `start: a
limits: {max_tokens: 60}
nodes: {a: {kind: llm, prompt: "tell me something", max_tokens: 20, retry: {max_attempts: 9, initial_interval: 1ms}}}
edges: [{from: a, to: END}]`
	result := runFlow(t, chat, flow, runner.Options{})
	u := result.Usage
	if result.Reason != "budget" || u.LLMCalls == 0 || u.LLMCalls > 6 || !u.Estimated || u.InputTokens < 8*u.LLMCalls || u.CostUSD == nil || *u.CostUSD == 0 {
		t.Errorf("%s (%v), counted %+v", result.Reason, result.Error, u)
	}
}

// A request that can't be sent is not counted as a call: not in the result, not in the events,
// and not by a recording.
func TestUnsentCallIsNotCounted(t *testing.T) {
	chat := newChat(t, func(string) string { return "ok" })
	for name, node := range map[string]string{
		"a part that the protocol lacks": `prompt: [hear, {audio: "data:audio/ogg;base64,T2dnUwACAAAAAAAA"}]`,
		"a budget where a level stands":  "prompt: hi, reasoning: 2048",
	} {
		result := runFlow(t, chat, "start: a\nlimits: {max_tokens: 5000}\nnodes: {a: {kind: llm, "+node+"}, b: {kind: llm, prompt: go on}}\nedges: [{from: a, to: b, condition: on_failure}, {from: b, to: END}]", runner.Options{})
		if result.Status != machine.Completed || result.Usage.LLMCalls != 1 {
			t.Errorf("%s: %s (%v), counted %+v", name, result.Status, result.Error, result.Usage)
		}
	}
	if len(chat.requests) != 2 {
		t.Errorf("%d requests", len(chat.requests))
	}
}
