// Structured output: an answer read as data of a schema, asked for again when
// it does not fit.

package node

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/graphrun/graphrun/internal/schema"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/runner"
)

// asker makes a call until its answer fits.
type asker struct {
	calls       *caller
	role, named string
	retries     int
	onText      func(string)
	// ended says why an answer is none, for how it ended.
	ended func(*model.Response) error
}

// ask makes a call; check turns the answer into a value, or says what is wrong
// with it, which the model is then told; one that ended badly is not asked for
// again. The last answer's fault is a failure of kind invalid_output.
func (a *asker) ask(ctx context.Context, req model.Request, check func(*model.Response) (any, error)) (any, *model.Response, error) {
	for try := 0; ; try++ {
		response, err := a.calls.call(ctx, a.role, a.named, req, a.onText)
		if err != nil {
			return nil, nil, err
		}
		if err := a.ended(response); err != nil {
			return nil, nil, err
		}
		value, problem := check(response)
		if problem == nil {
			return value, response, nil
		}
		if try >= a.retries {
			return nil, nil, &runner.Failure{
				Kind:    "invalid_output",
				Message: fmt.Sprintf("the answer of the model does not fit, after %d tries: %v", try+1, problem),
				Details: map[string]any{"answer": head(response.Content, 400)},
			}
		}
		if a.onText != nil {
			a.calls.broken() // the next answer takes its place
		}
		again := "Your answer does not fit: " + problem.Error() + ". Answer again, with nothing but JSON that fits."
		req.Messages = append(req.Messages[:len(req.Messages):len(req.Messages)],
			model.Message{Role: model.Assistant, Content: response.Content},
			model.Message{Role: model.User, Content: again})
	}
}

// structured reads an answer as data that fits a schema.
func structured(s *schema.Schema, text string) (any, error) {
	value, err := decodeJSON([]byte(unfenced(text)))
	if err == nil {
		value = s.Normalise(value)
		if err = s.Check(value); err == nil {
			return value, nil
		}
	} else {
		err = fmt.Errorf("it is not one JSON value: %w", err)
	}
	if plain := strings.TrimSpace(text); plain != "" && s.Check(plain) == nil {
		return plain, nil // a schema of texts needs no quotes
	}
	var mismatch *schema.Mismatch
	if errors.As(err, &mismatch) {
		return nil, fmt.Errorf("the output does not fit its schema: %w", err)
	}
	return nil, err
}

// unfenced takes off what some models put around JSON: their thinking before
// it, which servers without a parser for it leave in the text, and a Markdown
// fence. The beginning of the thinking may be missing: then the prompt had it.
func unfenced(text string) string {
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
