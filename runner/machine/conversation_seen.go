// What a node sees of the conversation (GraphSpec §9).

package machine

import (
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/spec"
)

// talking says how a node takes part in the conversation.
type talking struct {
	joins    bool // it reads and adds messages
	model    bool // it calls a model
	isolated bool
	reset    bool
	feedback bool
	see      string // all, branch, own
	// maxTokens and keepLast bound the list, unless they are 0.
	maxTokens, keepLast int
	// once are the keys that are reset after the node has read them.
	once []int
}

// defaultKeepLast is how many turns compaction keeps.
const defaultKeepLast = 4

// newTalking reads the conversation settings of a node. Those of the graph are the defaults.
func newTalking(g *spec.Graph, n *spec.Node) talking {
	kind := n.Kind.Value
	t := talking{model: kind == "llm" || kind == "agent", see: "all", feedback: g.Feedback}
	t.joins = t.model || kind == "tools" || kind == "graph" && modeOf(n.Conversation) == "continuous"
	if n.Feedback != nil {
		t.feedback = *n.Feedback
	}
	t.readSettings(g.Conversation)
	t.readSettings(n.Conversation)
	return t
}

func (t *talking) readSettings(v *spec.Value) {
	if v == nil {
		return
	}
	if v.Kind == spec.Map {
		if see := v.Get("see"); see != nil {
			t.see = see.Text.Value
		}
		if c := v.Get("compaction"); c != nil {
			t.keepLast = defaultKeepLast
			if max := c.Get("max_tokens"); max != nil {
				t.maxTokens, _ = max.Data().(int)
			}
			if keep := c.Get("keep_last"); keep != nil {
				t.keepLast, _ = keep.Data().(int)
			}
		}
	}
	if mode := modeOf(v); mode != "" {
		t.isolated, t.reset = mode == "isolated", mode == "reset"
	}
}

// modeOf returns the mode in a `conversation`, or "".
func modeOf(v *spec.Value) string {
	if v != nil && v.Kind == spec.Map {
		v = v.Get("mode")
	}
	if v == nil {
		return ""
	}
	return v.Text.Value
}

// newTalk returns the conversation for an attempt.
func (t *Task) newTalk(n *node) *Talk {
	v := t.view()
	th := v.Thread
	if !n.talk.joins || th == nil {
		return nil
	}
	out := &Talk{
		Done: t.scope.pastNodes(t, maxDone), Steps: v.Count, Feedback: n.talk.feedback && t.Visit > 1,
		MaxTokens: n.talk.maxTokens, KeepLast: n.talk.keepLast, Own: n.talk.isolated && n.talk.model,
		Messages: t.scope.state.Talk.messages(t.visibleMessages(n)),
	}
	if own := th.privateOf(n, t.Node); out.Own && own != nil {
		out.Done, out.Steps = own.Done, own.Steps
	}
	if !n.talk.model {
		return out
	}
	out.Continues = endsInResults(out.Messages, n.id)
	if last := lastSpeaker(out.Messages); last != "" && last != n.id && n.talk.see != "own" {
		out.Moved, out.Ran = true, th.Ran
	}
	if m := v.lastMemory(t.Node); out.Feedback && m != nil && m.Output != nil {
		out.Prior, out.HasPrior = eval.Text(m.Output), true
	}
	return out
}

// visibleMessages returns the positions of the messages that a task may see.
func (t *Task) visibleMessages(n *node) []int {
	c, th := t.scope.state.Talk, t.view().Thread
	if own := th.privateOf(n, t.Node); own != nil {
		return own.List
	}
	hide := func(at int) bool { return false }
	switch {
	case n.talk.isolated && n.talk.model, n.talk.reset && !endsInResults(c.messages(th.Shared), n.id):
		return nil
	case n.talk.see == "own":
		hide = func(at int) bool { return c[at].Node != n.id && !c.isResultFor(at, n.id) }
	case n.talk.see == "branch" && len(t.Place) > 0:
		if split := t.scope.findView(t.scope.findFan(t.Place[len(t.Place)-1].Fan).View); split.Thread != nil {
			hide = func(at int) bool { return slices.Contains(split.Thread.Shared, at) }
		}
	}
	return slices.DeleteFunc(slices.Clone(th.Shared), hide)
}

// isResultFor reports whether a message is the result of a tool call by node.
func (c conversation) isResultFor(at int, node string) bool {
	id := c[at].ToolCallID
	for i := at - 1; id != "" && i >= 0; i-- {
		if slices.ContainsFunc(c[i].ToolCalls, func(call ToolCall) bool { return call.ID == id }) {
			return c[i].Node == node
		}
	}
	return false
}

// endsInResults reports whether messages end in all tool results of the node's last answer.
func endsInResults(messages []Message, node string) bool {
	i := len(messages) - 1
	for i >= 0 && messages[i].Role == "tool" {
		i--
	}
	return i >= 0 && i < len(messages)-1 && messages[i].Node == node && len(messages[i].ToolCalls) > 0
}

// lastSpeaker returns the node of the last answer of a model, or "".
func lastSpeaker(messages []Message) string {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == "assistant" {
			return messages[i].Node
		}
	}
	return ""
}
