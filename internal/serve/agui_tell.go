// Events of a run as AG-UI has them.

package serve

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/graphrun/graphrun/internal/fleet"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
)

// aguiTeller turns events of a run into those of AG-UI.
type aguiTeller struct {
	out   *sse
	in    *aguiInput
	run   string
	steps map[string]bool // that have begun and not ended
	texts map[string]bool // messages that have begun and not ended
	order []string        // of steps and texts, as they began
	spoke string          // what the last message said
	calls int
}

func (t *aguiTeller) say(event object) {
	event["timestamp"] = time.Now().UnixMilli()
	text, err := json.Marshal(event)
	if err != nil {
		text, _ = json.Marshal(object{"type": "RUN_ERROR", "message": err.Error()}) // it can be
	}
	t.out.event("", text)
}

// snapshot tells the state.
func (t *aguiTeller) snapshot(r *runner.Runner) error {
	result, err := r.Show(t.run, runner.Options{})
	if err != nil {
		return err
	}
	t.say(object{"type": "STATE_SNAPSHOT", "snapshot": result.State})
	return t.out.send()
}

// aguiEvent is what matters of an event.
type aguiEvent struct {
	Event   string         `json:"event"`
	Node    string         `json:"node"`
	Place   string         `json:"place"`
	Visit   int            `json:"visit"`
	Attempt int            `json:"attempt"`
	Text    string         `json:"text"`
	Final   bool           `json:"final"`
	Delta   map[string]any `json:"delta"`
	Tool    string         `json:"tool"`
	ID      string         `json:"id"`
	Args    any            `json:"args"`
	Output  any            `json:"output"`
}

// tell tells of an event; over: the drive has ended with it.
func (t *aguiTeller) tell(line *fleet.Line) (over bool, err error) {
	switch line.Type {
	case runner.RunFinished:
		return true, nil
	case runner.NodeStarted, runner.NodeCompleted, runner.NodeFailed, runner.NodeOutput, runner.StateUpdated, runner.ToolCalled:
	default:
		return false, nil
	}
	var e aguiEvent
	if err := json.Unmarshal(line.JSON, &e); err != nil {
		return false, err
	}
	place := e.Node
	if e.Place != "" {
		place = e.Place
	}
	step := place
	if e.Visit > 1 {
		step = fmt.Sprintf("%s #%d", place, e.Visit)
	}
	message := fmt.Sprintf("%s-%s-%d-%d", t.run, place, e.Visit, e.Attempt)
	switch line.Type {
	case runner.NodeStarted:
		t.begin(t.steps, step, object{"type": "STEP_STARTED", "stepName": step})
	case runner.NodeCompleted, runner.NodeFailed:
		t.finish(t.texts, message, object{"type": "TEXT_MESSAGE_END", "messageId": message})
		t.finish(t.steps, step, object{"type": "STEP_FINISHED", "stepName": step})
	case runner.NodeOutput:
		t.text(message, e.Text, e.Final)
	case runner.ToolCalled:
		t.tool(&e)
	case runner.StateUpdated:
		if strings.Contains(place, "/") { // a subgraph's
			return false, nil
		}
		t.say(object{"type": "STATE_DELTA", "delta": patch(e.Delta)})
	}
	return false, nil
}

func (t *aguiTeller) begin(open map[string]bool, name string, event object) {
	if !open[name] {
		open[name] = true
		t.order = append(t.order, name)
		t.say(event)
	}
}

func (t *aguiTeller) finish(open map[string]bool, name string, event object) {
	if open[name] {
		delete(open, name)
		t.say(event)
	}
}

func (t *aguiTeller) text(message, text string, final bool) {
	if text != "" {
		if !t.texts[message] {
			t.spoke = ""
		}
		t.begin(t.texts, message, object{"type": "TEXT_MESSAGE_START", "messageId": message, "role": "assistant"})
		t.spoke += text
		t.say(object{"type": "TEXT_MESSAGE_CONTENT", "messageId": message, "delta": text})
	}
	if final {
		t.finish(t.texts, message, object{"type": "TEXT_MESSAGE_END", "messageId": message})
	}
}

func (t *aguiTeller) tool(e *aguiEvent) {
	t.calls++
	id := e.ID
	if id == "" {
		id = fmt.Sprintf("%s-call-%d", t.run, t.calls)
	}
	t.say(object{"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": e.Tool})
	t.say(object{"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": answerText(e.Args)})
	t.say(object{"type": "TOOL_CALL_END", "toolCallId": id})
	t.say(object{"type": "TOOL_CALL_RESULT", "messageId": id + "-result", "toolCallId": id, "content": answerText(e.Output), "role": "tool"})
}

// patch is a change of the state as a JSON Patch.
func patch(delta map[string]any) []object {
	out := []object{}
	for _, key := range sortedKeys(delta) {
		path := "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
		out = append(out, object{"op": "add", "path": path, "value": delta[key]})
	}
	return out
}

// end tells what the run came to, after all that is still open.
func (t *aguiTeller) end(d *fleet.Drive) error {
	for _, name := range t.order {
		t.finish(t.texts, name, object{"type": "TEXT_MESSAGE_END", "messageId": name})
		t.finish(t.steps, name, object{"type": "STEP_FINISHED", "stepName": name})
	}
	if d.Err != nil {
		return t.fail(d.Err)
	}
	r := d.Result
	finished := object{"type": "RUN_FINISHED", "threadId": t.in.ThreadID, "runId": t.in.RunID}
	switch r.Status {
	case machine.Completed:
		if text, ok := r.Output.(string); ok && text != "" && text != t.spoke {
			t.text(t.run+"-output", text, true)
		}
		finished["result"], finished["outcome"] = r.Output, object{"type": "success"}
	case machine.Paused:
		finished["outcome"] = object{"type": "interrupt", "interrupts": interrupts(r)}
	case machine.Cancelled:
		finished["outcome"] = object{"type": "cancelled"}
	default:
		message, code := string(r.Status)+": "+r.Reason, r.Reason
		if r.Error != nil {
			message, code = r.Error.Message, r.Error.Kind
		}
		finished = object{"type": "RUN_ERROR", "message": message, "code": code}
	}
	t.say(finished)
	return quiet(t.out.send())
}

func (t *aguiTeller) fail(err error) error {
	t.say(object{"type": "RUN_ERROR", "message": err.Error(), "code": "internal"})
	return quiet(t.out.send())
}

// interrupts are what a run waits for.
func interrupts(r *runner.Result) []object {
	out := []object{}
	for i := range r.Pending {
		p := &r.Pending[i]
		one := object{
			"id": r.RunID + "/" + p.Target(), "reason": map[string]string{"tool": "tool_call"}[p.Kind], "message": p.Prompt,
			"metadata": object{"run_id": r.RunID, "target": p.Target(), "kind": p.Kind, "name": p.Name, "args": p.Args},
		}
		if one["reason"] == "" {
			one["reason"] = "input_required"
		}
		if schema, ok := p.Schema.(map[string]any); ok {
			one["responseSchema"] = schema
		}
		if p.Due != nil {
			one["expiresAt"] = p.Due.Format(time.RFC3339)
		}
		out = append(out, one)
	}
	if len(out) == 0 {
		out = append(out, object{"id": r.RunID + "/", "reason": r.Reason, "message": "the run pauses: " + r.Reason})
	}
	return out
}
