// What a node sees of the conversation (GraphSpec §9).

package machine

import (
	"slices"

	"github.com/graphrun/graphrun/spec"
)

// talking is a node's part in the conversation.
type talking struct {
	// joins says that the node takes messages and gives some.
	joins    bool
	model    bool // a model speaks there
	isolated bool
	reset    bool
	feedback bool
	see      string // all, branch, own
	// maxTokens and keepLast bound the list; 0: no bound.
	maxTokens, keepLast int
	// once are the keys that go back to their defaults once the node has read them.
	once []int
}

// defaultKeepLast is how many turns compaction leaves alone.
const defaultKeepLast = 4

// talkingOf reads the node's conversation, and the graph's where it has none.
func talkingOf(g *spec.Graph, n *spec.Node) talking {
	kind := n.Kind.Value
	t := talking{model: kind == "llm" || kind == "agent", see: "all", feedback: g.Feedback}
	t.joins = t.model || kind == "tools" || kind == "graph" && modeOf(n.Conversation) == "continuous"
	if n.Feedback != nil {
		t.feedback = *n.Feedback
	}
	t.read(g.Conversation)
	t.read(n.Conversation)
	return t
}

func (t *talking) read(v *spec.Value) {
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

// modeOf is the mode that a `conversation` names; "" for none.
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
	th := t.view().Thread
	if !n.talk.joins || th == nil {
		return nil
	}
	c := &t.scope.state.Talk
	out := &Talk{
		Done: th.Done, Steps: th.Steps, Feedback: n.talk.feedback && t.Visit > 1,
		MaxTokens: n.talk.maxTokens, KeepLast: n.talk.keepLast, Own: n.talk.isolated && n.talk.model,
	}
	if out.Own && th.continuesPrivateList(n, t.Node) {
		out.Done, out.Steps = th.Before, th.Begun
	}
	out.Messages = c.messages(t.visibleMessages(n))
	if !n.talk.model {
		return out
	}
	out.Continues = continues(out.Messages, n.id)
	if last := lastSpeaker(out.Messages); last != "" && last != n.id && n.talk.see != "own" {
		out.Moved, out.Ran = true, th.Ran
	}
	if out.Feedback {
		out.Prior, out.HasPrior = th.Prior[t.Node]
	}
	return out
}

// visibleMessages returns the positions of the messages that a task may see.
func (t *Task) visibleMessages(n *node) []int32 {
	c, th := &t.scope.state.Talk, t.view().Thread
	if th.continuesPrivateList(n, t.Node) {
		return c.of(th.Private, 0)
	}
	list := c.of(th.Shared, 0)
	switch {
	case n.talk.isolated && n.talk.model, n.talk.reset && !continues(c.messages(list), n.id):
		return nil
	case n.talk.see == "own":
		return slices.DeleteFunc(list, func(at int32) bool { return c.Said[at].Node != n.id && !c.isResultFor(at, n.id) })
	case n.talk.see == "branch" && len(t.Place) > 0:
		before := map[int32]bool{}
		if split := t.scope.view(t.scope.fan(t.Place[len(t.Place)-1].Fan).View); split.Thread != nil {
			for _, at := range c.of(split.Thread.Shared, 0) {
				before[at] = true
			}
		}
		return slices.DeleteFunc(list, func(at int32) bool { return before[at] })
	}
	return list
}

// isResultFor reports whether a message is the result of a tool call by node, whoever ran
// the tool.
func (c *conversation) isResultFor(at int32, node string) bool {
	id := c.Said[at].ToolCallID
	if id == "" {
		return false
	}
	for i := at - 1; i >= 0; i-- {
		for _, call := range c.Said[i].ToolCalls {
			if call.ID == id {
				return c.Said[i].Node == node
			}
		}
	}
	return false
}

// continues reports whether messages end in the results of all tool calls of a
// node's last answer.
func continues(messages []Message, node string) bool {
	i := len(messages) - 1
	for i >= 0 && messages[i].Role == "tool" {
		i--
	}
	return i >= 0 && i < len(messages)-1 && messages[i].Node == node && len(messages[i].ToolCalls) > 0
}

// lastSpeaker is the node of the last answer of a model; "" when there is none.
func lastSpeaker(messages []Message) string {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == "assistant" {
			return messages[i].Node
		}
	}
	return ""
}
