package scripted

import (
	"strings"
	"testing"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/modeltest"
)

func TestConformance(t *testing.T) {
	entries := map[string]string{
		"text":         `{node: a, content: "Hello, wörld.\nNice day!", usage: {input_tokens: 12, output_tokens: 7, cached_tokens: 4}}`,
		"structured":   `{node: a, content: {confidence: 0.9, category: billing}, usage: {input_tokens: 30, output_tokens: 9}}`,
		"rate_limited": "{node: a, error: {kind: rate_limited, retry_after: 7s}}",
		"overloaded":   "{node: a, error: {kind: overloaded}}",
		"auth":         "{node: a, error: {kind: auth}}",
		"failing":      "{node: a, error: {kind: overloaded}}",
	}
	modeltest.Run(t, func(t *testing.T, scenario string, _ bool) model.Client {
		entry, ok := entries[scenario]
		if !ok {
			return nil
		}
		return parse(t, strings.Repeat("  - "+entry+"\n", 8)).NewClient(nil)
	})
}
