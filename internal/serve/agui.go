// AG-UI: runs as events for chat frontends (docs.ag-ui.com).

package serve

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/fleet"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

// aguiInput holds the fields of AG-UI's RunAgentInput that graphrun uses.
type aguiInput struct {
	ThreadID  string          `json:"threadId"`
	RunID     string          `json:"runId"`
	State     json.RawMessage `json:"state"`
	Messages  []aguiMessage   `json:"messages"`
	Forwarded aguiForwarded   `json:"forwardedProps"`
	Resume    []aguiResume    `json:"resume"`

	flow string
}

type aguiMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// aguiForwarded holds properties for graphrun itself.
type aguiForwarded struct {
	Flow       string         `json:"flow"`
	Input      map[string]any `json:"input"`
	MessageKey string         `json:"messageKey"`
}

type aguiResume struct {
	Interrupt string `json:"interruptId"`
	Status    string `json:"status"`
	Payload   any    `json:"payload"`
}

// serveAGUI runs a flow, or resumes a run whose interrupts are answered, and streams it until it ends
// or waits.
func (s *Server) serveAGUI(c *call) error {
	in, err := readAGUIInput(c.r)
	if err != nil {
		return err
	}
	d, err := s.startAGUI(c, in)
	if err != nil {
		return err
	}
	out := openSSE(c, s.stop)
	defer out.close()
	t := &aguiStream{out: out, in: in, run: d.ID}
	t.send(object{"type": "RUN_STARTED", "threadId": in.ThreadID, "runId": in.RunID})
	result, err := s.cfg.Runner.Show(d.ID, runner.Options{})
	if err == nil {
		t.send(object{"type": "STATE_SNAPSHOT", "snapshot": result.State})
		err = out.flush()
	}
	if err != nil {
		t.sendFailure(err)
		return nil
	}
	err = s.cfg.Fleet.Watch(out.ctx, d.ID, d.Before, fleet.Watcher{
		Receive: func(lines []fleet.Line) error {
			over := false
			for i := 0; i < len(lines) && !over; i++ {
				over = lines[i].Type == runner.RunFinished
				if err := t.sendEvent(&lines[i]); err != nil {
					return err
				}
			}
			if err := out.flush(); err != nil || !over {
				return err
			}
			return errAGUIOver
		},
		Idle: out.sendHeartbeat,
	})
	if err != nil && !errors.Is(err, errAGUIOver) {
		return nil // the reader has disconnected, but the run continues
	}
	select { // the run is ending
	case <-d.Done:
		t.sendResult(d)
	case <-out.ctx.Done():
	}
	return nil
}

// errAGUIOver makes Watch return when the stream is complete.
var errAGUIOver = errors.New("the run has ended or waits")

func readAGUIInput(r *http.Request) (*aguiInput, error) {
	in := &aguiInput{}
	if err := decodeBody(r, in, false); err != nil {
		return nil, err
	}
	if in.ThreadID == "" || in.RunID == "" {
		return nil, newBadRequest(`"threadId" and "runId" are needed`)
	}
	in.flow = cmp.Or(r.PathValue("flow"), in.Forwarded.Flow)
	return in, nil
}

func (s *Server) startAGUI(c *call, in *aguiInput) (*fleet.Drive, error) {
	if len(in.Resume) > 0 {
		return s.resumeAGUI(c, in)
	}
	if in.flow == "" {
		return nil, newBadRequest("no flow: POST /agui/FLOW, or say it in forwardedProps.flow")
	}
	flow, err := s.cfg.Catalog.Load(in.flow)
	if err != nil {
		return nil, err
	}
	return s.Start(in.flow, runner.Options{
		Input: in.buildInput(flow.Graph), Labels: map[string]string{"thread": in.ThreadID}, By: "AG-UI", Session: in.chooseSession(flow.Graph),
	})
}

// resumeAGUI answers the interrupts of a run. Their ids are RUN/QUESTION.
func (s *Server) resumeAGUI(c *call, in *aguiInput) (*fleet.Drive, error) {
	id := ""
	var given []store.GivenAnswer
	for _, r := range in.Resume {
		run, target, ok := strings.Cut(r.Interrupt, "/")
		switch {
		case !ok || id != "" && id != run:
			return nil, newBadRequest("interrupt %.200q belongs to no run here, or to another run", r.Interrupt)
		case r.Status == "cancelled":
			if _, err := s.cfg.Runner.Cancel(run); err != nil {
				return nil, err
			}
			return nil, &problem{Status: http.StatusConflict, Kind: "cancelled", Title: "the run was cancelled", Detail: fmt.Sprintf("an interrupt was abandoned: run %.200q is cancelled", run)}
		case target != "":
			given = append(given, store.GivenAnswer{Target: target, Text: eval.ResultText(r.Payload)})
		}
		id = run
	}
	if len(given) > 0 {
		if _, err := s.cfg.Runner.Answer(c.ctx, id, given, "AG-UI"); err != nil {
			return nil, err
		}
	}
	return s.cfg.Fleet.Resume(id, runner.Options{By: "AG-UI"})
}

// chooseSession returns the thread as session id, for a flow with session data.
func (in *aguiInput) chooseSession(g *spec.Graph) string {
	for _, k := range g.State {
		if k.Scope.Value == "session" && checkID("threadId", in.ThreadID) == nil {
			return in.ThreadID
		}
	}
	return ""
}

// buildInput builds the input of a run from the declared keys of the frontend's state and of
// forwardedProps.input, which takes precedence. The user's last message goes to the key that
// messageKey names, or to the only required text key without a value.
func (in *aguiInput) buildInput(g *spec.Graph) map[string]any {
	out := map[string]any{}
	state := map[string]any{}
	_ = eval.DecodeJSON(in.State, &state) // anything but an object has no keys
	var texts []string
	for _, k := range g.State {
		name := k.Name.Value
		if value, ok := state[name]; ok && !k.Secret {
			out[name] = value
		}
		if value, ok := in.Forwarded.Input[name]; ok {
			out[name] = value
		}
		if _, given := out[name]; k.Required && !given && k.Schema["type"] == "string" {
			texts = append(texts, name)
		}
	}
	key := in.Forwarded.MessageKey
	if key == "" && len(texts) == 1 {
		key = texts[0]
	}
	if text := in.findLastMessage(); key != "" && text != "" {
		out[key] = text
	}
	return out
}

func (in *aguiInput) findLastMessage() string {
	for _, m := range slices.Backward(in.Messages) {
		if m.Role != "user" {
			continue
		}
		var text string
		if json.Unmarshal(m.Content, &text) == nil {
			return text
		}
		var parts []struct {
			Text string `json:"text"`
		}
		_ = json.Unmarshal(m.Content, &parts) // anything but a list has no parts
		for _, p := range parts {
			text += p.Text
		}
		return text
	}
	return ""
}

// aguiStream converts events of a run to events of AG-UI.
type aguiStream struct {
	out      *sse
	in       *aguiInput
	run      string
	open     []openPart
	lastText string // of the last message
	calls    int
}

// openPart is a step or a message that has started.
type openPart struct {
	name string
	end  object // the event that ends it
}

func (t *aguiStream) send(event object) {
	event["timestamp"] = time.Now().UnixMilli()
	text, err := json.Marshal(event)
	if err != nil {
		text, _ = json.Marshal(object{"type": "RUN_ERROR", "message": err.Error()}) // texts never fail
	}
	t.out.addEvent("", text)
}

// aguiEvent holds the fields of an event that AG-UI clients need.
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

// sendEvent sends the AG-UI events for an event of the run.
func (t *aguiStream) sendEvent(line *fleet.Line) error {
	switch line.Type {
	case runner.NodeStarted, runner.NodeCompleted, runner.NodeFailed, runner.NodeOutput, runner.StateUpdated, runner.ToolCalled:
	default:
		return nil
	}
	var e aguiEvent
	if err := eval.DecodeJSON(line.JSON, &e); err != nil {
		return err
	}
	place := cmp.Or(e.Place, e.Node)
	step := place
	if e.Visit > 1 {
		step = fmt.Sprintf("%s #%d", place, e.Visit)
	}
	message := fmt.Sprintf("%s-%s-%d-%d", t.run, place, e.Visit, e.Attempt)
	switch line.Type {
	case runner.NodeStarted:
		t.startPart(step, object{"type": "STEP_STARTED", "stepName": step}, object{"type": "STEP_FINISHED", "stepName": step})
	case runner.NodeCompleted, runner.NodeFailed:
		t.endPart(message)
		t.endPart(step)
	case runner.NodeOutput:
		t.sendText(message, e.Text, e.Final)
	case runner.ToolCalled:
		t.sendToolCall(&e)
	case runner.StateUpdated:
		if !strings.Contains(place, "/") { // else a subgraph's
			t.send(object{"type": "STATE_DELTA", "delta": newPatch(e.Delta)})
		}
	}
	return nil
}

// findPart returns the index of an open part, or -1.
func (t *aguiStream) findPart(name string) int {
	return slices.IndexFunc(t.open, func(p openPart) bool { return p.name == name })
}

func (t *aguiStream) startPart(name string, start, end object) {
	if t.findPart(name) < 0 {
		t.open = append(t.open, openPart{name, end})
		t.send(start)
	}
}

func (t *aguiStream) endPart(name string) {
	if i := t.findPart(name); i >= 0 {
		t.send(t.open[i].end)
		t.open = slices.Delete(t.open, i, i+1)
	}
}

func (t *aguiStream) sendText(message, text string, isFinal bool) {
	if text != "" {
		if t.findPart(message) < 0 {
			t.lastText = ""
		}
		t.startPart(message, object{"type": "TEXT_MESSAGE_START", "messageId": message, "role": "assistant"}, object{"type": "TEXT_MESSAGE_END", "messageId": message})
		t.lastText += text
		t.send(object{"type": "TEXT_MESSAGE_CONTENT", "messageId": message, "delta": text})
	}
	if isFinal {
		t.endPart(message)
	}
}

func (t *aguiStream) sendToolCall(e *aguiEvent) {
	t.calls++
	id := cmp.Or(e.ID, fmt.Sprintf("%s-call-%d", t.run, t.calls))
	t.send(object{"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": e.Tool})
	t.send(object{"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": eval.ResultText(e.Args)})
	t.send(object{"type": "TOOL_CALL_END", "toolCallId": id})
	t.send(object{"type": "TOOL_CALL_RESULT", "messageId": id + "-result", "toolCallId": id, "content": eval.ResultText(e.Output), "role": "tool"})
}

// newPatch returns a change of the state as a JSON Patch.
func newPatch(delta map[string]any) []object {
	out := []object{}
	for _, key := range sortKeys(delta) {
		path := "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
		out = append(out, object{"op": "add", "path": path, "value": delta[key]})
	}
	return out
}

// sendResult ends all open parts and sends the result.
func (t *aguiStream) sendResult(d *fleet.Drive) {
	for _, part := range t.open {
		t.send(part.end)
	}
	if d.Err != nil {
		t.sendFailure(d.Err)
		return
	}
	r := d.Result
	finished := object{"type": "RUN_FINISHED", "threadId": t.in.ThreadID, "runId": t.in.RunID}
	switch r.Status {
	case machine.Completed:
		if text, ok := r.Output.(string); ok && text != "" && text != t.lastText {
			t.sendText(t.run+"-output", text, true)
		}
		finished["result"], finished["outcome"] = r.Output, object{"type": "success"}
	case machine.Paused:
		finished["outcome"] = object{"type": "interrupt", "interrupts": listInterrupts(r)}
	case machine.Cancelled:
		finished["outcome"] = object{"type": "cancelled"}
	default:
		message, code := string(r.Status)+": "+r.Reason, r.Reason
		if r.Error != nil {
			message, code = r.Error.Message, r.Error.Kind
		}
		finished = object{"type": "RUN_ERROR", "message": message, "code": code}
	}
	t.send(finished)
	_ = t.out.flush() // fails only if the reader has disconnected
}

func (t *aguiStream) sendFailure(err error) {
	t.send(object{"type": "RUN_ERROR", "message": err.Error(), "code": "internal"})
	_ = t.out.flush() // fails only if the reader has disconnected
}

// listInterrupts returns the open questions of a run.
func listInterrupts(r *runner.Result) []object {
	out := []object{}
	for _, p := range r.Pending {
		one := object{
			"id": r.RunID + "/" + p.Target(), "reason": "input_required", "message": p.Prompt,
			"metadata": object{"run_id": r.RunID, "target": p.Target(), "kind": p.Kind, "name": p.Name, "args": p.Args},
		}
		if p.Kind == "tool" {
			one["reason"] = "tool_call"
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
