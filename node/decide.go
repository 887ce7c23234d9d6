// Decisions: a model chooses between llm_decide edges (GraphSpec §9).

package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/spec"
)

// decisionTime is the default timeout of a decision.
const decisionTime = 2 * time.Minute

// decider decides llm_decide edges with the router model.
type decider struct{ models *models }

// Decide asks the router model for a target and its reason.
func (d *decider) Decide(ctx context.Context, task *runner.Task, choice handler.Choice) (target, reasoning string, err error) {
	limit := task.Graph.Limits.NodeTimeout
	if limit == 0 {
		limit = decisionTime
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	calls := newCaller(d.models, task)
	tries := callTries
	if retry := task.Graph.Retry; retry != nil {
		tries = spec.MaxAttempts(retry)
	}
	var answer any
	req := decisionRequest(task, &choice)
	read := newAnswerReader(relaxRequired(req.Schema, "target"))
	err = calls.retryCall(ctx, "router", tries, func() error {
		answer, _, err = calls.askUntilFits(ctx, "router", nil, req, nil, read)
		return err
	})
	if errors.Is(err, context.DeadlineExceeded) {
		err = newFailure("timeout", "the decision took longer than %s", eval.DurationText(limit))
	}
	fields, _ := answer.(map[string]any)
	target, _ = fields["target"].(string)
	reasoning, _ = fields["reasoning"].(string)
	return target, reasoning, err
}

func decisionRequest(task *runner.Task, choice *handler.Choice) model.Request {
	var b strings.Builder
	fmt.Fprintf(&b, "The step %q has finished. Its output:\n%s", nodeID(task.Node), eval.Text(eval.ShortenURIs(choice.Output)))
	b.WriteString("\n\n" + pathText(choice.Trail))
	for i, seen := range choice.See {
		if i == 0 {
			b.WriteString("\n\nWhat is known besides:")
		}
		fmt.Fprintf(&b, "\n- %s: %s", seen.Key, eval.Text(shortenResult(seen.Value)))
	}
	b.WriteString("\n\nChoose the next step, one of:")
	var targets []string
	for _, option := range choice.Candidates {
		if !slices.Contains(targets, option.Target) {
			targets = append(targets, option.Target)
		}
		b.WriteString("\n- " + option.Target)
		if option.Description != "" {
			b.WriteString(": " + option.Description)
		}
	}
	if choice.Instructions != "" {
		b.WriteString("\n\n" + choice.Instructions)
	}
	return model.Request{
		System: joinLayers([]string{
			task.Graph.Persona.Value, goalText(task),
			"You decide which step of a workflow comes next. Answer with one JSON object {\"target\": …, \"reasoning\": …}, and with nothing else; target is the name of one of the steps offered, exactly as written.",
		}),
		Messages: []model.Message{{Role: model.User, Content: b.String()}},
		Schema: closedSchema(map[string]any{
			"target": map[string]any{"type": "string", "enum": toAnyList(targets)}, "reasoning": map[string]any{"type": "string"},
		}, "target", "reasoning"),
	}
}

// pathLength bounds the path in a router's prompt.
const pathLength = 40

func pathText(path []string) string {
	var names []string // in the order of their first visits
	visits := map[string]int{}
	for _, name := range path {
		if visits[name]++; visits[name] == 1 {
			names = append(names, name)
		}
	}
	way := strings.Join(path[max(0, len(path)-pathLength):], " → ")
	if len(path) > pathLength {
		way = "… → " + way
	}
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d", name, visits[name])
	}
	return "The path so far: " + way + "\nVisits: " + strings.Join(names, ", ")
}

func toAnyList(texts []string) []any {
	out := make([]any, len(texts))
	for i, text := range texts {
		out[i] = text
	}
	return out
}
