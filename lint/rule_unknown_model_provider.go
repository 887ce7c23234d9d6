// unknown-model-provider: the part of a model before the slash is no provider.

package lint

import (
	"regexp"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/spec"
)

func unknownModelProvider() Rule {
	return Rule{
		Name: "unknown-model-provider", Group: "models", Severity: spec.Error, needs: needNode,
		Summary: "a model names a provider that is neither built in nor declared",
		Doc:     "A model is written provider/name. Providers are anthropic, openai, scripted and those that the file declares under providers.",
		Bad: `graphrun: v1
name: ask
start: ask
output: output
models: {default: opanai/gpt-6-luna}
nodes:
  ask: {kind: llm, prompt: "Why is the sky blue?", timeout: 1m}
edges:
  - {from: ask, to: END}
`,
		change: []string{"opanai/gpt-6-luna}", "local/llama}\nproviders:\n  local: {type: openai, base_url: \"http://localhost:8080/v1/\"}"},
		check:  checkModelProvider,
	}
}

func checkModelProvider(f *facts) {
	known := []string{"anthropic", "openai", "scripted"}
	known = append(known, keysOf(slices.Concat(f.graph.Providers, f.graph.Whole().Providers))...)
	slices.Sort(known)
	known = slices.Compact(known)
	for _, m := range f.graph.Models {
		if m.Value.Kind == spec.String {
			f.provider(m.Value.Text, known, true)
		}
	}
	for _, n := range f.graph.Nodes {
		if !isModel(n) {
			continue
		}
		f.provider(text(n, "model"), known, false)
		if judge := n.Field("judge").Get("model"); judge != nil && judge.Kind == spec.String {
			f.provider(judge.Text, known, false)
		}
	}
}

// provider checks provider/name; whole says that a name alone is wrong too.
func (f *facts) provider(model spec.Text, known []string, whole bool) {
	if !model.IsSet() || strings.Contains(model.Value, "{{") {
		return
	}
	name, _, ok := strings.Cut(model.Value, "/")
	switch {
	case !ok && (whole || withProvider(name) != "") && f.roles()[name] == nil:
		d := f.report(model.At(0, len(model.Value)), "%q names no provider; write provider/name, where providers are %s", model.Value, strings.Join(known, ", "))
		d.Suggestion = withProvider(name)
	case ok && !slices.Contains(known, name):
		d := f.report(model.At(0, len(name)), "%q is no provider; known are %s", name, strings.Join(known, ", "))
		d.Suggestion = suggest.Closest(name, known)
	}
}

// withProvider is a model's name with the provider whose it is known to be; ""
// when nobody's is.
func withProvider(model string) string {
	families := [...]struct{ provider, names string }{
		{"openai", `^(gpt-\d|chatgpt-|codex-|o[134]$|o[134]-)`},
		{"anthropic", `^claude-(\d|opus|sonnet|haiku|instant)`},
	}
	for _, f := range families {
		if regexp.MustCompile(f.names).MatchString(model) {
			return f.provider + "/" + model
		}
	}
	return ""
}
