// Reading answers of models: refused, filtered and cut ones, and JSON with a schema.

package node

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/schema"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/runner"
)

// askUntilFits repeats a call until read accepts its answer. It does not repeat a call whose answer
// was refused, filtered or cut. Without a fitting answer it fails with kind invalid_output. n and s
// are nil for routers and summaries: their model is named like the role.
func (c *caller) askUntilFits(
	ctx context.Context, role string, n *modelNode, req model.Request, s *stream, read func(*model.Response) (any, error),
) (any, *model.Response, error) {
	named, retries := role, 2
	if n != nil {
		named, retries = n.Named, n.Retries
	}
	for try := 0; ; try++ {
		response, err := c.callModel(ctx, role, named, req, s)
		if err == nil {
			err = checkEnding(n, response)
		}
		if err != nil {
			return nil, nil, err
		}
		value, problem := read(response)
		if problem == nil {
			return value, response, nil
		}
		if try >= retries {
			return nil, nil, invalidAnswerFailure(response, try+1, problem)
		}
		s.retractText() // the next answer replaces it
		req.Messages = append(req.Messages[:len(req.Messages):len(req.Messages)],
			model.Message{Role: model.Assistant, Content: response.Content},
			model.Message{Role: model.User, Content: retryPrompt(problem)})
	}
}

func invalidAnswerFailure(response *model.Response, tries int, problem error) *runner.Failure {
	return &runner.Failure{
		Kind:    "invalid_output",
		Message: fmt.Sprintf("the answer of the model does not fit, after %s: %v", eval.Count(tries, "attempt"), problem),
		Details: map[string]any{"answer": eval.Shorten(response.Content, 400)},
	}
}

func retryPrompt(problem error) string {
	return "Your answer does not fit: " + problem.Error() + ". Answer again, with nothing but JSON that fits."
}

func newAnswerReader(doc map[string]any) func(*model.Response) (any, error) {
	compiled, err := schema.Compile(doc)
	return func(response *model.Response) (any, error) {
		if err != nil {
			return nil, err
		}
		return parseStructured(compiled, response.Content)
	}
}

// closedSchema returns the schema of an object with these properties and no others.
func closedSchema(properties map[string]any, required ...string) map[string]any {
	return map[string]any{"type": "object", "additionalProperties": false, "required": toAnyList(required), "properties": properties}
}

// relaxRequired returns a schema that requires only one key and allows other properties.
func relaxRequired(doc map[string]any, key string) map[string]any {
	return map[string]any{"type": "object", "properties": doc["properties"], "required": []any{key}}
}

func parseStructured(s *schema.Schema, text string) (any, error) {
	value, err := decodeJSON([]byte(stripFence(text)))
	if err != nil {
		err = fmt.Errorf("it is not one JSON value: %w", err)
	} else if value = s.Normalise(value); s.Check(value) == nil {
		return value, nil
	} else {
		err = fmt.Errorf("the output does not fit its schema: %w", s.Check(value))
	}
	if plain := strings.TrimSpace(text); plain != "" && s.Check(plain) == nil {
		return plain, nil // a string without quotes
	}
	return nil, err
}

// stripFence removes a Markdown fence, and thoughts that some servers leave before JSON.
func stripFence(text string) string {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
		if i := strings.LastIndex(text, "</think>"); i >= 0 {
			text = strings.TrimSpace(text[i+len("</think>"):])
		}
	}
	if rest, ok := strings.CutPrefix(text, "```"); ok && strings.HasSuffix(rest, "```") {
		if _, body, ok := strings.Cut(strings.TrimSuffix(rest, "```"), "\n"); ok {
			return body
		}
	}
	return text
}

// endings are the failure kinds and messages of answers that were refused, filtered or cut.
var endings = map[model.StopReason][2]string{
	model.StopRefusal: {"refused", "the model refused to answer"},
	model.StopFilter:  {"filtered", "the provider's content filter ended the answer"},
	model.StopLength:  {"truncated", "the answer was cut: it had all the tokens that it may have"},
}

// checkEnding returns the failure of an answer that was refused, filtered or cut, unless the node
// accepts it. n is nil for routers, judges and summaries, whose failures quote the answer.
func checkEnding(n *modelNode, response *model.Response) error {
	what, bad := endings[response.Stop]
	if !bad {
		return nil
	}
	failure := &runner.Failure{Kind: what[0], Message: what[1], Details: map[string]any{"answer": response.Content}}
	switch {
	case n == nil && response.Content != "":
		failure.Message += fmt.Sprintf(": %q", eval.Shorten(response.Content, 200))
	case n == nil:
	case slices.Contains(n.Accept, failure.Kind):
		emitWarning(n.task, "an answer is accepted that is %s: %s", failure.Kind, failure.Message)
		return nil
	case response.Stop == model.StopLength:
		failure.Message += fmt.Sprintf(" (%d); raise max_tokens, or take it with accept: [truncated]", response.Usage.OutputTokens)
	}
	return failure
}
