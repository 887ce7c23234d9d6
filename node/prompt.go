// Prompts: the layers of the system prompt, the messages that turn a shared
// conversation to a node, feedback on a revisit (GraphSpec §9).

package node

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/spec"
)

// identity returns the system prompt of the shared conversation. It is the same for all
// nodes, so that providers can cache what follows.
func identity(task *runner.Task) string {
	return joinLayers([]string{task.Graph.Persona.Value, goalText(task)})
}

// systemPrompt returns the system prompt of the node's own conversation.
func (n *modelNode) systemPrompt(more []string) string {
	return joinLayers(append([]string{identity(n.task), progress(n.task), n.focus()}, more...))
}

// focus returns the node's instructions and the form of its output.
func (n *modelNode) focus() string {
	layers := []string{n.Instructions}
	switch {
	case n.finish != "":
		layers = append(layers, fmt.Sprintf("When you are done, call the tool %q with the result; nothing else ends your work.", n.finish))
	case n.schema != nil:
		layers = append(layers, "Answer with one JSON value that fits this JSON Schema, and with nothing else:\n"+eval.Text(n.decl.Output))
	}
	return joinLayers(layers)
}

// turnTo returns the messages that turn the shared conversation to the node: a marker if
// another node spoke last, and the node's focus if it is not there since.
func (n *modelNode) turnTo(talk *handler.Talk) []string {
	var out []string
	focus := n.focus()
	switch {
	case talk.Moved:
		out = append(out, n.marker())
	case len(talk.Messages) == 0:
		out = append(out, progress(n.task))
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

// goalText returns the goal, with criteria and constraints if it is the graph's own.
func goalText(task *runner.Task) string {
	if task.Models.Goal == "" {
		return ""
	}
	text := "Goal: " + task.Models.Goal
	if !task.Models.OwnGoal {
		return text
	}
	goal := &task.Graph.Goal
	return text + bullets("\nIt is reached when:", goal.SuccessCriteria) + bullets("\nConstraints:", goal.Constraints)
}

func bullets(intro string, items []spec.Text) string {
	if len(items) == 0 {
		return ""
	}
	for _, item := range items {
		intro += "\n- " + item.Value
	}
	return intro
}

// progress lists the steps on the way to this node.
func progress(task *runner.Task) string {
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
	steps := "steps"
	if talk.Steps == 1 {
		steps = "step"
	}
	return fmt.Sprintf("%d %s done: %s", talk.Steps, steps, list)
}

// marker returns the message that the conversation moves to another node.
func (n *modelNode) marker() string {
	var b strings.Builder
	fmt.Fprintf(&b, "[The conversation moves on to step %q.", lastPart(n.task.Node))
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
	fmt.Fprintf(&b, "\nAccomplished: %s.\nNext: %s", doneText(n.task.Talk), lastPart(n.task.Node))
	if n.decl != nil && n.decl.Description.Value != "" {
		b.WriteString(": " + n.decl.Description.Value)
	}
	return b.String() + "]"
}

// ask returns the prompt with feedback on earlier visits; it may be empty.
func (n *modelNode) ask() content {
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
	return n.prompt.with(feedback + "]")
}

// continueText returns the message for a model whose node has no prompt, after its own last
// message: the input or "Go on.".
func (n *modelNode) continueText() (content, error) {
	switch input := n.task.Input.(type) {
	case nil:
	case map[string]any:
		if eval.IsMedia(input) {
			return resultContent(n.task, input)
		}
		if len(input) > 0 {
			pieces, media := eval.Pieces(input)
			if !media {
				pieces = []any{eval.Text(eval.Brief(input))}
			}
			return contentOf(append([]any{map[string]any{"text": "Input:"}}, pieces...), anyFile(n.task))
		}
	default:
		return resultContent(n.task, input)
	}
	return content{text: "Go on."}, nil
}
