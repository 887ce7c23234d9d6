// Prompts: the layers of the system prompt, the messages that hand a shared conversation over to a
// node, feedback on a revisit, resources of servers, and compaction (GraphSpec §9).

package node

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/price"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/spec"
)

// identityText returns the system prompt of the shared conversation. It is the same for all
// nodes, so that providers can cache the conversation.
func identityText(task *runner.Task) string {
	return joinLayers([]string{task.Graph.Persona.Value, goalText(task)})
}

func (n *modelNode) systemPrompt(more []string) string {
	return joinLayers(append([]string{identityText(n.task), progressText(n.task), n.focusText()}, more...))
}

// focusText returns the node's instructions and the form of its output.
func (n *modelNode) focusText() string {
	layers := []string{n.Instructions}
	switch {
	case n.finish != "":
		layers = append(layers, fmt.Sprintf("When you are done, call the tool %q with the result; nothing else ends your work.", n.finish))
	case n.schema != nil:
		layers = append(layers, "Answer with one JSON value that fits this JSON Schema, and with nothing else:\n"+eval.Text(n.decl.Output))
	}
	return joinLayers(layers)
}

// handoverMessages returns messages that hand the shared conversation over to the node: a
// marker if another node spoke last, and the node's focus unless the conversation has it.
func (n *modelNode) handoverMessages(talk *handler.Talk) []string {
	var out []string
	focus := n.focusText()
	switch {
	case talk.Moved:
		out = append(out, n.markerText())
	case len(talk.Messages) == 0:
		out = append(out, progressText(n.task))
	case slices.ContainsFunc(talk.Messages, func(m handler.Message) bool { return m.Role == "user" && m.Content == focus }):
		focus = ""
	}
	return slices.DeleteFunc(append(out, focus), func(text string) bool { return text == "" })
}

func joinLayers(layers []string) string {
	var kept []string
	for _, layer := range layers {
		if layer = strings.TrimSpace(layer); layer != "" {
			kept = append(kept, layer)
		}
	}
	return strings.Join(kept, "\n\n")
}

// goalText returns the goal. It has criteria and constraints if the goal is the graph's own.
func goalText(task *runner.Task) string {
	if task.Models.Goal == "" {
		return ""
	}
	text := "Goal: " + task.Models.Goal
	if !task.Models.OwnGoal {
		return text
	}
	goal := &task.Graph.Goal
	return text + bulletText("\nIt is reached when:", goal.SuccessCriteria) + bulletText("\nConstraints:", goal.Constraints)
}

func bulletText(intro string, items []spec.Text) string {
	if len(items) == 0 {
		return ""
	}
	for _, item := range items {
		intro += "\n- " + item.Value
	}
	return intro
}

func progressText(task *runner.Task) string {
	if task.Talk == nil || task.Talk.Steps == 0 || task.Models.Goal == "" {
		return ""
	}
	return "Progress: " + doneText(task.Talk)
}

func doneText(talk *handler.Talk) string {
	list := strings.Join(talk.Done, ", ")
	if talk.Steps > len(talk.Done) {
		list = "…, " + list
	}
	return fmt.Sprintf("%s done: %s", eval.Count(talk.Steps, "step"), list)
}

// markerText returns a message that tells the model that the conversation moves to another node.
func (n *modelNode) markerText() string {
	var b strings.Builder
	fmt.Fprintf(&b, "[The conversation moves on to step %q.", nodeID(n.task.Node))
	if len(n.task.Talk.Ran) > 0 {
		b.WriteString("\nSince the last answer ran:")
		for _, ran := range n.task.Talk.Ran {
			word := ""
			if ran.Failed {
				word = " failed"
			}
			fmt.Fprintf(&b, "\n- %s%s: %s", ran.Node, word, ran.Output)
		}
	}
	fmt.Fprintf(&b, "\nAccomplished: %s.\nNext: %s", doneText(n.task.Talk), nodeID(n.task.Node))
	if n.decl.Description.Value != "" {
		b.WriteString(": " + n.decl.Description.Value)
	}
	return b.String() + "]"
}

// addFeedback returns the prompt with feedback on earlier visits. It may be empty.
func (n *modelNode) addFeedback() content {
	talk := n.task.Talk
	if talk == nil || !talk.Feedback {
		return n.prompt
	}
	feedback := fmt.Sprintf("[This is visit %d of this step.", n.task.Visit)
	if talk.HasPrior {
		feedback += " Your output before was:\n" + talk.Prior + "\nDo better where it fell short."
	} else {
		feedback += " The visits before gave no output."
	}
	return n.prompt.withText(feedback + "]")
}

// inputContent returns the message for a node without a prompt: its input, or "Go on.".
func (n *modelNode) inputContent() (content, error) {
	switch input := n.task.Input.(type) {
	case nil:
	case map[string]any:
		if eval.IsMedia(input) {
			return readResultContent(n.task, input)
		}
		if len(input) > 0 {
			pieces, media := eval.SplitPieces(input)
			if !media {
				pieces = []any{eval.Text(eval.ShortenURIs(input))}
			}
			return readContent(n.task, append([]any{map[string]any{"text": "Input:"}}, pieces...), findAnyFile)
		}
	default:
		return readResultContent(n.task, input)
	}
	return content{text: "Go on."}, nil
}

// readPrompt returns the content of a prompt. Only parts written in the file may name
// resources and prompts of servers.
func (k *toolkit) readPrompt(ctx context.Context, task *runner.Task, written *spec.Value, v any) (content, error) {
	if written == nil || written.Kind != spec.List && written.Kind != spec.Map {
		return readValueContent(task, v)
	}
	list, isList := v.([]any)
	if !isList {
		list = []any{v}
	}
	var parts []model.Part
	for i, item := range list {
		ofFile := written.Kind == spec.Map || i < len(written.Items) && written.Items[i].Kind == spec.Map
		said, err := k.readPromptItem(ctx, task, i, item, ofFile)
		if err != nil {
			return content{}, err
		}
		if said.parts == nil {
			said.parts = []model.Part{{Kind: model.TextPart, Text: said.text}}
		}
		parts = append(parts, said.parts...)
	}
	return buildContent(parts), nil
}

// readPromptItem returns the content of an item of a prompt. ofFile means that the file has it as a part.
func (k *toolkit) readPromptItem(ctx context.Context, task *runner.Task, number int, item any, ofFile bool) (content, error) {
	fields, _ := item.(map[string]any)
	text, isText := fields["text"]
	switch {
	case !ofFile:
		return readValueContent(task, item)
	case fields["resource"] != nil || fields["prompt"] != nil:
		fetched, err := k.fetchFromServer(ctx, task, number, fields)
		if err != nil {
			return content{}, err
		}
		return readContent(task, fetched, findAnyFile)
	case isText:
		return readValueContent(task, text)
	}
	part, err := readPart(task, item, findAnyFile)
	return buildContent([]model.Part{part}), err
}

// fetchFromServer fetches a numbered part and journals it, so that a resumed task sends the same.
func (k *toolkit) fetchFromServer(ctx context.Context, task *runner.Task, number int, fields map[string]any) ([]any, error) {
	kind, named, form := "resource", eval.Text(fields["resource"]), "server:uri"
	if fields["prompt"] != nil {
		kind, named, form = "prompt", eval.Text(fields["prompt"]), "server:name"
	}
	server, what, _ := strings.Cut(named, ":")
	if what == "" {
		return nil, invalidInput("invalid %s %q; it is named %s", kind, named, form)
	}
	given, args := map[string]string{}, map[string]any{kind: what}
	texts, _ := fields["args"].(map[string]any)
	for name, value := range texts {
		given[name] = eval.Text(value)
		args[name] = given[name]
	}
	c := toolCall{ToolCall: model.ToolCall{Name: server + ":" + kind, Args: args}, number: number}
	out, err := c.journalCall(task, func() (answer, error) {
		registry, err := k.openRegistry(task)
		if err != nil {
			return answer{}, err
		}
		taped, err := k.playOrRecord(task, c, func() (answer, error) {
			parts, err := registry.FetchParts(ctx, (&toolActor{task: task}).Warn, kind, server, what, given)
			return answer{Output: parts}, err
		})
		if err != nil {
			return answer{}, callError(ctx, named, err)
		}
		parts, _ := maskSecrets(task, taped.Output).([]any)
		return answer{Output: parts}, nil
	})
	parts, _ := out.Output.([]any)
	return parts, err
}

// compactMessages summarises the oldest turns of a long request. If that fails, it only warns.
func (n *modelNode) compactMessages(ctx context.Context, calls *caller, req *model.Request) error {
	talk := n.task.Talk
	if talk.MaxTokens == 0 || price.EstimateRequestTokens(&model.Request{Messages: req.Messages}) <= talk.MaxTokens {
		return nil
	}
	cut := countOldMessages(req.Messages, talk.KeepLast)
	if cut == 0 {
		return nil
	}
	text, err := n.askSummary(ctx, calls, req.Messages[:cut])
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		emitWarning(n.task, "the conversation could not be summarised: %v", err)
		return nil
	}
	summary := model.Message{Role: model.User, Content: "[Summary of the conversation so far]\n" + text}
	talk.Compact(cut, summary)
	req.Messages = append([]model.Message{summary}, req.Messages[cut:]...)
	return nil
}

// askSummary lets a model summarise messages as text, or as JSON of the graph's schema.
func (n *modelNode) askSummary(ctx context.Context, calls *caller, messages []model.Message) (string, error) {
	req := model.Request{
		System:   "Summarise the conversation below for the one who goes on with it. Keep facts, decisions, numbers, names and open questions; leave out what no longer matters. Answer with the summary only.",
		Messages: []model.Message{{Role: model.User, Content: transcriptText(messages)}},
	}
	read := func(response *model.Response) (any, error) { return response.Content, nil }
	if source := cmp.Or(n.decl.Conversation.Get("compaction").Get("output"), n.task.Graph.Conversation.Get("compaction").Get("output")); source != nil {
		doc, _ := source.Data().(map[string]any)
		req.Schema = doc
		req.System = joinLayers([]string{req.System, "The summary is one JSON value that fits this JSON Schema, and nothing else:\n" + eval.Text(doc)})
		read = newAnswerReader(doc)
	}
	value, _, err := calls.askUntilFits(ctx, "compact", nil, req, nil, read)
	return eval.Text(value), err
}

// countOldMessages counts the messages before the last keep turns. A turn includes its tool results.
func countOldMessages(messages []model.Message, keep int) int {
	cut := len(messages)
	for i := len(messages) - 1; i >= 0 && keep > 0; i-- {
		if messages[i].Role != model.ToolResult {
			keep--
			cut = i
		}
	}
	if keep > 0 {
		return 0
	}
	for i := cut - 1; cut == len(messages) && i >= 0; i-- { // keep calls without results
		if len(messages[i].ToolCalls) > 0 {
			return i
		}
		if messages[i].Role != model.ToolResult {
			break
		}
	}
	return cut
}

func transcriptText(messages []model.Message) string {
	var b strings.Builder
	for _, m := range messages {
		who := string(m.Role)
		if m.Name != "" {
			who += " " + m.Name
		}
		fmt.Fprintf(&b, "%s: %s\n", who, m.Content)
		for _, call := range m.ToolCalls {
			fmt.Fprintf(&b, "%s calls %s %s\n", who, call.Name, eval.Text(call.Args))
		}
	}
	return b.String()
}
