// The steps of a dry run, and its stubs.

package flowtest

import (
	"fmt"
	"strings"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/spec"
)

// Planned is one step of a dry run: what the node would run, send, ask or write.
type Planned struct {
	// Step is the number of the step, or 0 if it was stopped.
	Step  int    `json:"step"`
	Node  string `json:"node"`
	Visit int    `json:"visit"`
	Kind  string `json:"kind"`
	// Command is the argv of an exec node, Stdin its input.
	Command []string       `json:"command,omitempty"`
	Dir     string         `json:"dir,omitempty"`
	Env     map[string]any `json:"env,omitempty"`
	Stdin   string         `json:"stdin,omitempty"`
	// Request is the request of an http node, or the call of a tool.
	Request map[string]any `json:"request,omitempty"`
	// Prompt holds the messages of a model node, the system prompt first.
	Prompt []PromptPart `json:"prompt,omitempty"`
	// Question is the prompt for a person.
	Question string `json:"question,omitempty"`
	// Waits is the duration of a wait, WaitsMS the same in milliseconds.
	Waits   time.Duration `json:"-"`
	WaitsMS int64         `json:"waits_ms,omitempty"`
	// Writes holds the state keys that the step changes.
	Writes map[string]any `json:"writes,omitempty"`
	// MadeUp is the made-up output, or nil if the node really ran.
	MadeUp any `json:"made_up,omitempty"`
	// Next lists the next nodes, Decided the conditions that made-up values decided.
	Next    []string `json:"next"`
	Decided []string `json:"decided,omitempty"`
}

// PromptPart is a message to a model.
type PromptPart struct {
	Role string `json:"role"`
	Text string `json:"text"`
}

// Text writes a step for a person.
func (p *Planned) Text() string {
	var b strings.Builder
	head := p.Node
	if p.Visit > 1 {
		head += fmt.Sprintf(" #%d", p.Visit)
	}
	number := "   "
	if p.Step > 0 {
		number = fmt.Sprintf("[%d]", p.Step)
	}
	fmt.Fprintf(&b, "%s  %s  %s\n", number, head, p.Kind)
	line := func(name, text string) {
		for i, part := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
			if i > 0 {
				name = ""
			}
			fmt.Fprintf(&b, "     %-9s %s\n", name, part)
		}
	}
	if p.Command != nil {
		line("command", yamlFlow(p.Command))
		line("stdin", p.Stdin)
	}
	if p.Request != nil {
		line("request", yamlFlow(p.Request))
	}
	for _, part := range p.Prompt {
		line(part.Role, part.Text)
	}
	if p.Question != "" {
		line("asks", p.Question)
	}
	if p.Kind == "wait" {
		line("waits", eval.DurationText(p.Waits))
	}
	if len(p.Writes) > 0 {
		line("writes", yamlFlow(p.Writes))
	}
	if p.MadeUp != nil {
		line("made up", yamlFlow(p.MadeUp))
	}
	for _, when := range p.Decided {
		line("decided", "by a made-up value: "+strings.Join(strings.Fields(when), " "))
	}
	if len(p.Next) > 0 {
		line("next", strings.Join(p.Next, ", "))
	}
	return b.String()
}

// ReadStubs reads a file with a map of stubs by node under the key stubs.
func ReadStubs(name string, src []byte) (*spec.Value, spec.Diagnostics) {
	stub := stubKey(2)
	key := []spec.Key{{Name: "stubs", Type: spec.TypeMap, Elem: &stub, Required: true}}
	what := "a file of stubs is a map of them by node, under the key stubs"
	root, found := spec.Read(name, src, what, key)
	if root == nil {
		return nil, found
	}
	return root.Get("stubs"), found
}
