package machine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/runner/machine"
)

// One more turn in a conversation of 10,000 messages: the model gets all of
// them, and adds two.
func BenchmarkLongConversation(b *testing.B) {
	plan := compile(b, "graphrun: v1\nname: g\nstart: a\nlimits: {max_steps: 100000000}\nfeedback_on_revisit: false\nmodels: {default: scripted/s}\nnodes: {a: {kind: llm, prompt: x}}\nedges: [{from: a, to: a, when: step > 0}, {from: a, to: END}]\n")
	text := strings.Repeat("word ", 40)
	for _, messages := range []int{100, 10_000} {
		b.Run(fmt.Sprint(messages), func(b *testing.B) {
			talk := make([]machine.Message, messages)
			for i := range talk {
				talk[i] = machine.Message{Role: []string{"user", "assistant"}[i%2], Content: text, Node: "a"}
			}
			s := plan.NewState()
			cmds, err := plan.Apply(s, machine.Event{Kind: machine.RunBegan, Run: &machine.RunInfo{ID: "r", Talk: talk}})
			b.ReportAllocs()
			for b.Loop() {
				if err != nil || len(cmds[0].Work.Talk.Messages) < messages {
					b.Fatal(err, len(cmds))
				}
				id := cmds[0].Task
				if _, err = plan.Apply(s, machine.Event{Kind: machine.TaskEnded, Task: id, Output: "x", Talk: &machine.TalkDelta{Add: []machine.Message{
					{Role: "user", Content: text}, {Role: "assistant", Content: text},
				}}}); err == nil {
					cmds, err = plan.Apply(s, machine.Event{Kind: machine.Advanced})
				}
			}
		})
	}
}
