package node_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/machine"
)

// adder is a tool, and agentEdge the only edge of a flow with one node.
const (
	adder     = "tools: {add: {exec: {command: [sh, -c, 'cat > /dev/null; echo 3'], parse: json}, parameters: {properties: {x: {type: integer}}}}}\n"
	agentEdge = "\nedges: [{from: a, to: END}]"
)

// An agent sends these requests to its model, turn by turn.
func TestAgentRequests(t *testing.T) {
	for name, test := range map[string]struct {
		node    string
		replies []string
		want    []string
		output  any
	}{
		"tool results": {
			node:    "{kind: agent, prompt: go, tools: [add]}",
			replies: []string{`call add {"x": 1}`, `call add {"x": "one"}`, "call add {\"x\": 1", "done"},
			want: []string{
				"u:go",
				"u:go | a:1 calls | t:3",
				`u:go | a:1 calls | t:3 | a:1 calls | t:arguments of tool "add": at "x": "one" is not an integer`,
				`u:go | a:1 calls | t:3 | a:1 calls | t:arguments of tool "add": at "x": "one" is not an integer | a:1 calls | t:arguments of tool "add" are no JSON object: {"x": 1`,
			},
			output: "done",
		},
		"a judge sends back": {
			node:    "{kind: agent, prompt: go, judge: {criteria: nice}}",
			replies: []string{"bad", `{"verdict": "RETRY", "feedback": "be nice", "score": 0.1}`, "good", `{"verdict": "ACCEPT", "feedback": "", "score": 1}`},
			want: []string{
				"u:go",
				"u:The task was:\ngo\n\nThe answer to judge:\nbad",
				"u:go | a:bad | u:Your answer was not accepted. The judge says: be nice Answer again, and better.",
				"u:The task was:\ngo\n\nThe answer to judge:\ngood",
			},
			output: "good",
		},
		"a finishing tool": {
			node:    "{kind: agent, prompt: go, loop: {pattern: finish_tool}}",
			replies: []string{"thinking", `call finish {"answer": "found"}`},
			want: []string{
				`u:When you are done, call the tool "finish" with the result; nothing else ends your work. | u:go`,
				`u:When you are done, call the tool "finish" with the result; nothing else ends your work. | u:go | a:thinking | u:Go on. When you are done, call the tool "finish".`,
			},
			output: "found",
		},
		"trials": {
			node:    "{kind: agent, prompt: go, loop: {pattern: evaluator_optimizer, max_trials: 2}}",
			replies: []string{"one", `{"verdict": "RETRY", "feedback": "longer", "score": 0.5}`, "two", `{"verdict": "RETRY", "feedback": "", "score": 0.4}`},
			want: []string{
				"u:go",
				"u:The task was:\ngo\n\nThe answer to judge:\none",
				"u:go | a:one | u:That was trial 1; it scored 0.5, the best so far 0.5. The judge says: longer Think about what to change, and answer again.",
				"u:The task was:\ngo\n\nThe answer to judge:\ntwo",
			},
			output: "one",
		},
	} {
		t.Run(name, func(t *testing.T) {
			chat := newChat(t, inOrder(test.replies...))
			result := runFlow(t, chat, "start: a\n"+adder+"nodes: {a: "+test.node+"}"+agentEdge, runner.Options{})
			if result.Status != machine.Completed || result.Output != test.output {
				t.Errorf("%s, output %v: %v", result.Status, result.Output, result.Error)
			}
			if diff := cmp.Diff(test.want, chat.formatRequests()); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

// An agent that exceeds the run's budget ends the run. A limit of its loop ends only the loop.
func TestAgentBudget(t *testing.T) {
	agent := "nodes: {a: {kind: agent, prompt: go, tools: [add], max_tokens: 5%s}}" + agentEdge
	n := 0
	calls := func(string) string { n++; return fmt.Sprintf(`call add {"x": %d}`, n) }
	chat := newChat(t, calls)
	result := runFlow(t, chat, "start: a\nlimits: {max_tokens: 90}\n"+adder+fmt.Sprintf(agent, ""), runner.Options{})
	if result.Status != machine.Limit || result.Reason != "budget" || len(chat.requests) != 2 {
		t.Errorf("%s, reason %s after %d calls: %v", result.Status, result.Reason, len(chat.requests), result.Error)
	}
	result = runFlow(t, newChat(t, calls), "start: a\n"+adder+fmt.Sprintf(agent, ", loop: {max_cost_usd: 1}"), runner.Options{})
	if result.Error == nil || result.Error.Kind != "invalid_input" || !strings.Contains(result.Error.Message, "price of \"local/m\" is not known") {
		t.Errorf("an unknown price: %v", result.Error)
	}
}

// The result of a cancelled run has the finished turns of its agent.
func TestAgentCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	turns := 0
	chat := newChat(t, func(string) string {
		if turns++; turns == 2 {
			cancel(errors.New("enough"))
		}
		return fmt.Sprintf(`call add {"x": %d}`, turns)
	})
	result := runHooked(ctx, t, chat, "start: a\n"+adder+"nodes: {a: {kind: agent, prompt: go, tools: [add]}}"+agentEdge, runner.Options{}, runner.Hooks{})
	partial, _ := result.Partial["a"].([]any)
	if result.Status != machine.Cancelled || len(partial) == 0 {
		t.Fatalf("%s, partial %v", result.Status, result.Partial)
	}
	first, _ := partial[0].(map[string]any)
	if first["turn"] != 1 || !strings.Contains(fmt.Sprint(first["tool_calls"]), "output:3") {
		t.Errorf("the first turn: %v", first)
	}
}

// Hooks see every call, can refuse it, and can change the result of a tool.
func TestCallHooks(t *testing.T) {
	var log []string
	hooks := runner.Hooks{
		BeforeTool: func(_ context.Context, task *runner.Task, call handler.ToolCall) error {
			log = append(log, fmt.Sprint("tool ", task.Node, " ", call.Name, " ", call.Args))
			if call.Args["x"] == 2 {
				return errors.New("not two")
			}
			return nil
		},
		AfterTool: func(_ context.Context, _ *runner.Task, call handler.ToolCall, result handler.ToolResult) handler.ToolResult {
			log = append(log, fmt.Sprint("gave ", result.Output))
			result.Output = "about three"
			return result
		},
		BeforeModel: func(_ context.Context, _ *runner.Task, call *handler.ModelCall) error {
			last := call.Messages[len(call.Messages)-1]
			log = append(log, fmt.Sprintf("%s of %s: %s", call.Role, call.Model, last.Content))
			if last.Content == "stop" {
				return &runner.Failure{Kind: "policy", Message: "no more"}
			}
			return nil
		},
		AfterModel: func(_ context.Context, _ *runner.Task, _ *handler.ModelCall, answer handler.Message, err error) {
			log = append(log, fmt.Sprintf("answers %q %d %v", answer.Content, len(answer.ToolCalls), err))
		},
	}
	agent := "start: a\n" + adder + "nodes: {a: {kind: agent, prompt: %s, tools: [add]}}" + agentEdge
	chat := newChat(t, inOrder(`call add {"x": 1}`, `call add {"x": 2}`, "done"))
	result := runHooked(t.Context(), t, chat, fmt.Sprintf(agent, "go"), runner.Options{}, hooks)
	want := []string{
		"chat of local/m: go", `answers "" 1 <nil>`,
		"tool a add map[x:1]", "gave 3",
		"chat of local/m: about three", `answers "" 1 <nil>`,
		"tool a add map[x:2]",
		"chat of local/m: not two", `answers "done" 0 <nil>`,
	}
	if diff := cmp.Diff(want, log); result.Output != "done" || diff != "" {
		t.Errorf("output %v, %v; hooks (-want +got):\n%s", result.Output, result.Error, diff)
	}
	result = runHooked(t.Context(), t, chat, fmt.Sprintf(agent, "stop"), runner.Options{}, hooks)
	if result.Error == nil || result.Error.Kind != "policy" || len(chat.requests) != 3 {
		t.Errorf("a refused call: %v after %d requests", result.Error, len(chat.requests))
	}

	// A hook can change the request of a call without changing the conversation.
	chat = newChat(t, inOrder(`call add {"x": 1}`, "done"))
	hooks = runner.Hooks{BeforeModel: func(_ context.Context, _ *runner.Task, call *handler.ModelCall) error {
		call.System += " Be brief."
		call.Messages = append(call.Messages[:len(call.Messages):len(call.Messages)], handler.Message{Role: "user", Content: "in one word"})
		return nil
	}}
	result = runHooked(t.Context(), t, chat, fmt.Sprintf(agent, "go"), runner.Options{}, hooks)
	if result.Output != "done" || len(chat.requests) != 2 {
		t.Fatalf("output %v, %v after %d requests", result.Output, result.Error, len(chat.requests))
	}
	for i, request := range chat.requests {
		if text := fmt.Sprint(request); strings.Count(text, "in one word") != 1 || strings.Count(text, "Be brief.") != 1 {
			t.Errorf("request %d is not what the hook made of it: %s", i, text)
		}
	}

	chat = newChat(t, inOrder("calls 2"))
	hooks = runner.Hooks{BeforeTool: func(context.Context, *runner.Task, handler.ToolCall) error { panic("oh") }}
	result = runHooked(t.Context(), t, chat, "start: a\n"+adder+`nodes: {a: {kind: pass}, b: {kind: tools}}
edges: [{from: a, to: b, transform: "{tool_calls: [{name: 'add'}, {name: 'add'}]}"}, {from: b, to: END}]`, runner.Options{}, hooks)
	if result.Error == nil || result.Error.Kind != "internal" || !strings.Contains(result.Error.Message, `tool "add" panicked: oh`) {
		t.Errorf("a hook that panics: %v", result.Error)
	}
}

// The request of an agent that ends with a call has no output schema, which would contradict the
// call.
func TestFinishToolWithOutput(t *testing.T) {
	for output, want := range map[string]string{
		"{type: object, properties: {n: {type: integer}}, required: [n]}": `{"n": 3}`,
		"{type: integer}": `{"answer": 3}`,
	} {
		chat := newChat(t, inOrder("call finish "+want))
		result := runFlow(t, chat, "start: a\nnodes: {a: {kind: agent, prompt: go, loop: {pattern: finish_tool}, output: "+output+"}}"+agentEdge, runner.Options{})
		if result.Status != machine.Completed {
			t.Fatalf("%s: %v", output, result.Error)
		}
		req := chat.requests[0]
		if all := fmt.Sprint(req.Messages); req.Format != nil || strings.Contains(all, "JSON Schema") || !strings.Contains(all, `call the tool "finish"`) || !strings.Contains(fmt.Sprint(req.Tools), "integer") {
			t.Errorf("%s: format %v, %s\n%v", output, req.Format, all, req.Tools)
		}
	}
}

// Models get the results of tools with secrets masked; the output of the node keeps them.
func TestSecretsInResults(t *testing.T) {
	t.Setenv("TOKEN_OF_TEST", "s3cr\"et-42")
	for _, kind := range []string{"agent", "tools"} {
		chat := newChat(t, inOrder(`call show {}`, "done"))
		flow := `secrets: {token: {env: TOKEN_OF_TEST}}
tools: {show: {exec: {command: [sh, -c, 'printf "%s" "$T"'], parse: text, env: {T: "it is {{ secrets.token }}!"}}, parameters: {type: object}}}
start: a
`
		if kind == "agent" {
			flow += "nodes: {a: {kind: agent, prompt: go, tools: [show]}}" + agentEdge
		} else {
			flow += "nodes: {a: {kind: llm, prompt: go, tools: [show]}, b: {kind: tools}, c: {kind: llm}}\nedges: [{from: a, to: b}, {from: b, to: c}, {from: c, to: END}]"
		}
		result := runFlow(t, chat, flow, runner.Options{})
		if result.Status != machine.Completed || len(chat.requests) != 2 {
			t.Fatalf("%s: %v", kind, result.Error)
		}
		if text := chat.requests[1].formatMessages(); strings.Contains(text, "et-42") || !strings.Contains(text, "t:it is ***!") {
			t.Errorf("%s: the model is told %s", kind, text)
		}
	}
}

// A tool's retry repeats failed calls, but not calls that were never made.
func TestToolRetry(t *testing.T) {
	for name, c := range map[string]struct {
		retry, call, want string
		made              int
	}{
		"until it works":   {"{max_attempts: 3, initial_interval: 1ms}", `call flaky {"n": 3}`, "t:fine", 3},
		"not more":         {"{max_attempts: 2, initial_interval: 1ms}", `call flaky {"n": 3}`, "exited with code 1", 2},
		"for other kinds":  {"{max_attempts: 3, on: timeout}", `call flaky {"n": 3}`, "exited with code 1", 1},
		"wrong arguments":  {"{max_attempts: 3}", `call flaky {"n": "x"}`, "is not an integer", 0},
		"a list of blocks": {"[{max_attempts: 1, on: timeout}, {max_attempts: 4, initial_interval: 1ms, on: [exit_status]}]", `call flaky {"n": 4}`, "t:fine", 4},
	} {
		t.Run(name, func(t *testing.T) {
			chat := newChat(t, inOrder(c.call, "done"))
			dir := t.TempDir()
			result := runFlow(t, chat, `tools: {flaky: {exec: {command: [sh, -c, 'cat > /dev/null; echo x >> made; [ "$(wc -l < made)" -ge "$N" ] && echo fine'], dir: "`+dir+`", parse: text, env: {N: "`+strings.Trim(c.call[len(c.call)-2:len(c.call)-1], `"`)+`"}}, retry: `+c.retry+`, parameters: {properties: {n: {type: integer}}}}}
start: a
nodes: {a: {kind: agent, prompt: go, tools: [flaky]}}`+agentEdge, runner.Options{})
			if result.Status != machine.Completed {
				t.Fatal(result.Error)
			}
			if text := chat.requests[1].formatMessages(); !strings.Contains(text, c.want) {
				t.Errorf("the model is told %s", text)
			}
			made, _ := os.ReadFile(filepath.Join(dir, "made"))
			if n := strings.Count(string(made), "x"); n != c.made {
				t.Errorf("%d calls", n)
			}
		})
	}
}

// max_in_flight bounds the concurrent calls to a provider's models, across all nodes.
func TestMaxInFlight(t *testing.T) {
	chat := newChat(t, func(string) string { return "ok" })
	chat.more = ", max_in_flight: 2"
	var now, most atomic.Int64
	chat.wait = func(string) {
		n := now.Add(1)
		for {
			was := most.Load()
			if n <= was || most.CompareAndSwap(was, n) {
				break
			}
		}
		runtime.Gosched()
		now.Add(-1)
	}
	result := runFlow(t, chat, "start: a\nnodes: {a: {kind: llm, each: '1..12', prompt: go, conversation: isolated}}"+agentEdge, runner.Options{})
	if result.Status != machine.Completed || len(chat.requests) != 12 || most.Load() > 2 {
		t.Errorf("%d calls, %d at once: %v", len(chat.requests), most.Load(), result.Error)
	}
}
