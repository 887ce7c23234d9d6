// Compaction: the oldest turns of a long conversation become a summary
// (GraphSpec §9).

package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/price"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
)

// compact summarises the oldest turns of a request that is too long. If that fails it
// warns and leaves the request as it is.
func (n *modelNode) compact(ctx context.Context, calls *caller, req *model.Request) error {
	talk := n.task.Talk
	if talk.MaxTokens == 0 || price.RequestTokens(&model.Request{Messages: req.Messages}) <= talk.MaxTokens {
		return nil
	}
	cut := countOldest(req.Messages, talk.KeepLast)
	if cut == 0 {
		return nil
	}
	text, err := n.summary(ctx, calls, req.Messages[:cut])
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		message := err.Error()
		var failure *runner.Failure
		if errors.As(err, &failure) {
			message = failure.Kind + ": " + failure.Message
		}
		warn(n.task, "the conversation could not be summarised: %s", message)
		return nil
	}
	summary := model.Message{Role: model.User, Content: "[Summary of the conversation so far]\n" + text}
	talk.Compact(cut, summary)
	req.Messages = append([]model.Message{summary}, req.Messages[cut:]...)
	return nil
}

// summary summarises messages as text, or as JSON of the graph's schema.
func (n *modelNode) summary(ctx context.Context, calls *caller, messages []model.Message) (string, error) {
	req := model.Request{
		System:   "Summarise the conversation below for the one who goes on with it. Keep facts, decisions, numbers, names and open questions; leave out what no longer matters. Answer with the summary only.",
		Messages: []model.Message{{Role: model.User, Content: transcript(messages)}},
	}
	read := func(response *model.Response) (any, error) { return response.Content, nil }
	if doc := n.summarySchema(); doc != nil {
		req.Schema = doc
		req.System = joinLayers([]string{req.System, "The summary is one JSON value that fits this JSON Schema, and nothing else:\n" + eval.Text(doc)})
		read = readerOf(doc)
	}
	a := &asker{calls: calls, role: "compact", named: "compact", retries: 2, ended: requireGoodEnding}
	value, _, err := a.ask(ctx, req, read)
	return eval.Text(value), err
}

// summarySchema returns the node's or the graph's schema of summaries, or nil for text.
func (n *modelNode) summarySchema() map[string]any {
	source := spec.SummarySchema(n.task.Graph.Conversation)
	if n.decl != nil {
		source = cmp.Or(spec.SummarySchema(n.decl.Conversation), source)
	}
	if source == nil {
		return nil
	}
	doc, _ := source.Data().(map[string]any)
	return doc
}

// countOldest counts the messages before the last keep turns. A turn is a message with the
// results of its tool calls.
func countOldest(messages []model.Message, keep int) int {
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
	if cut == len(messages) { // open calls stay in any case
		for i := len(messages) - 1; i >= 0; i-- {
			if len(messages[i].ToolCalls) > 0 {
				return i
			}
			if messages[i].Role != model.ToolResult {
				break
			}
		}
	}
	return cut
}

// transcript returns a conversation as text.
func transcript(messages []model.Message) string {
	var b strings.Builder
	for i := range messages {
		m := &messages[i]
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
