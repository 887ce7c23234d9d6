// Answers that were refused, filtered or cut (GraphSpec §9, endings).

package node

import (
	"fmt"
	"slices"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/runner"
)

// endings are the failure kinds and messages of answers that ended badly.
var endings = map[model.StopReason][2]string{
	model.StopRefusal: {"refused", "the model refused to answer"},
	model.StopFilter:  {"filtered", "the provider's content filter ended the answer"},
	model.StopLength:  {"truncated", "the answer was cut: it had all the tokens that it may have"},
}

// endingFailure returns the failure of an answer that ended badly, else nil.
func endingFailure(response *model.Response) *runner.Failure {
	what, bad := endings[response.Stop]
	if !bad {
		return nil
	}
	return &runner.Failure{Kind: what[0], Message: what[1], Details: map[string]any{"answer": response.Content}}
}

// ended is badEnding with a warning instead if the node accepts such an answer.
func (n *modelNode) ended(response *model.Response) error {
	failure := endingFailure(response)
	switch {
	case failure == nil:
		return nil
	case !slices.Contains(n.Accept, failure.Kind):
		if response.Stop == model.StopLength {
			failure.Message += fmt.Sprintf(" (%d); raise max_tokens, or take it with accept: [truncated]", response.Usage.OutputTokens)
		}
		return failure
	}
	warn(n.task, "an answer is accepted that is %s: %s", failure.Kind, endings[response.Stop][1])
	return nil
}

// requireGoodEnding is badEnding for calls other than a node's own. The message quotes the answer,
// because often only the message is shown.
func requireGoodEnding(response *model.Response) error {
	failure := endingFailure(response)
	if failure == nil {
		return nil
	}
	if response.Content != "" {
		failure.Message += fmt.Sprintf(": %q", head(response.Content, 200))
	}
	return failure
}
