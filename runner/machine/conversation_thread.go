// Threads: the position of a branch in the conversation.

package machine

import (
	"slices"

	"github.com/graphrun/graphrun/eval"
)

// Limits of the report to a model about the nodes before it.
const (
	maxRan       = 16
	maxDone      = 24
	maxRanOutput = 400 // bytes
)

// thread is the position of a branch in the conversation. Branches share threads, which never
// change. A graph without model nodes has none.
type thread struct {
	// Shared is the list that all nodes share.
	Shared  []int        `json:"shared,omitempty"`
	Private *privateList `json:"private,omitempty"`
	// Ran are the nodes that finished since a model last spoke.
	Ran []Ran `json:"ran,omitempty"`
	// Text is a model's last answer, Result a tool's last result, At the rank of the step that set one.
	Text   *string `json:"text,omitempty"`
	Result any     `json:"result,omitempty"`
	At     int     `json:"at,omitempty"`
}

// privateList is the list of an isolated node whose tool calls are being answered.
type privateList struct {
	List  []int `json:"list"`
	Owner int   `json:"owner"` // node
	// Done and Steps are the progress when the list began.
	Done  []string `json:"done,omitempty"`
	Steps int      `json:"steps,omitempty"`
}

func (t *Task) updateThread() {
	before := t.view().Thread
	if t.Thread = nil; before == nil || t.Skipped || t.Refused {
		return
	}
	th, n := *before, &t.scope.plan.nodes[t.Node]
	if t.Failure == nil && n.talk.joins {
		t.addToThread(&th, n)
	}
	t.recordRan(&th, n)
	t.Thread = &th
}

// talkDelta returns what a step added to the conversation, elements in their order.
func (t *Task) talkDelta() *TalkDelta {
	out := &TalkDelta{}
	if t.Each == nil {
		for _, u := range t.Units {
			if u.Talk != nil {
				out = u.Talk
			}
		}
		return out
	}
	for i := range t.Each.Items {
		if delta := t.Each.Talk[i]; delta != nil {
			out.Add = append(out.Add, delta.Add...)
		}
	}
	return out
}

func (t *Task) addToThread(th *thread, n *node) {
	delta := t.talkDelta()
	own := th.privateOf(n, t.Node)
	switch isPrivate := own != nil || n.talk.isolated && n.talk.model; {
	case isPrivate && n.talk.model && !endsInCalls(delta.Add): // nobody reads it again
		th.Private = nil
	case own != nil:
		next := *own
		next.List = t.appendMessages(n, own.List, delta)
		th.Private = &next
	case isPrivate:
		th.Private = &privateList{t.appendMessages(n, nil, delta), t.Node, t.scope.pastNodes(t, maxDone), t.view().Count}
	default:
		list := th.Shared
		if n.talk.reset && len(t.visibleMessages(n)) == 0 {
			list = nil
		}
		th.Shared, th.Private = t.appendMessages(n, list, delta), nil
	}
	for i := range delta.Add {
		th.setLast(&delta.Add[i], t.Rank)
	}
	if n.talk.model {
		th.Ran = nil
	}
}

// privateOf returns the private list that a tool node or its owner continues, or nil.
func (th *thread) privateOf(n *node, at int) *privateList {
	if p := th.Private; p != nil && (!n.talk.model || p.Owner == at) {
		return p
	}
	return nil
}

// appendMessages returns a list with the messages that a task added to it.
func (t *Task) appendMessages(n *node, list []int, delta *TalkDelta) []int {
	c := &t.scope.state.Talk
	if delta.Drop > 0 && delta.Summary != nil {
		visible, summary := t.visibleMessages(n), *delta.Summary
		summary.Node = n.id
		list = c.compactList(list, visible[:min(delta.Drop, len(visible))], summary)
	}
	for _, m := range delta.Add {
		m.Node = n.id
		list = c.addMessage(list, said{Message: m})
	}
	return list
}

// endsInCalls reports whether the messages of a model end in tool calls.
func endsInCalls(added []Message) bool {
	return len(added) > 0 && len(added[len(added)-1].ToolCalls) > 0
}

func (th *thread) setLast(m *Message, at int) {
	switch m.Role {
	case "assistant":
		text := m.Content
		th.Text, th.At = &text, at
	case "tool":
		th.Result, th.At = m.Content, at
	}
}

// deltaOf returns what an event adds to the conversation. A cached answer counts as said.
func (t *Task) deltaOf(e *Event) *TalkDelta {
	if e.Talk == nil && e.Cached && t.scope.plan.nodes[t.Node].talk.model {
		return &TalkDelta{Add: []Message{{Role: "assistant", Content: eval.Text(e.Output)}}}
	}
	return e.Talk
}

func (t *Task) recordRan(th *thread, n *node) {
	if n.talk.reset && !n.talk.joins {
		th.Shared, th.Private, th.Ran = nil, nil, nil
	}
	if !n.talk.model || t.Failure != nil {
		ran := Ran{Node: n.id, Task: t.ID}
		if t.Failure != nil {
			ran.Failed, ran.Output = true, cutText(t.Failure.Kind+": "+t.Failure.Message, maxRanOutput)
		} else {
			ran.Output = previewValue(eval.Brief(t.output()), maxRanOutput)
		}
		th.Ran = mergeRan(th.Ran, []Ran{ran})
	}
	if t.Failure != nil {
		return
	}
	switch n.kind {
	case "tool":
		th.Result, th.At = t.Output, t.Rank
	case "tools":
		if list, ok := t.Output.([]any); ok && len(list) > 0 {
			last, _ := list[len(list)-1].(map[string]any)
			th.Result, th.At = last["output"], t.Rank
		}
	}
}

// mergeRan adds the nodes of one list to another, each visit once, and keeps the last.
func mergeRan(a, b []Ran) []Ran {
	out := slices.Clip(a)
	for _, ran := range b {
		if !slices.ContainsFunc(a, func(other Ran) bool { return other.Task == ran.Task }) {
			out = append(out, ran)
		}
	}
	return slices.Clip(out[max(0, len(out)-maxRan):])
}

// mergeThreads returns the thread of a joined task. tasks are in declaration order.
func (sc *Scope) mergeThreads(tasks []*Task) *thread {
	first := tasks[0].view().Thread
	if first == nil || len(tasks) == 1 {
		return first
	}
	th := *first
	lists := make([][]int, len(tasks))
	for i, t := range tasks {
		other := t.view().Thread
		lists[i] = other.Shared
		if th.Private == nil {
			th.Private = other.Private
		}
		if other.At >= th.At {
			th.Text, th.Result, th.At = other.Text, other.Result, other.At
		}
		th.Ran = mergeRan(th.Ran, other.Ran)
	}
	th.Shared = sc.state.Talk.mergeLists(lists)
	return &th
}

func (th *thread) lastData() map[string]any {
	out := map[string]any{"text": nil, "tool_result": nil}
	if th != nil {
		out["tool_result"] = th.Result
		if th.Text != nil {
			out["text"] = *th.Text
		}
	}
	return out
}

// lastMessages returns `last` as a task sees it: after its own messages, once it has some.
func (t *Task) lastMessages(v *View) map[string]any {
	if v.Thread == nil || t.Done || !t.scope.plan.nodes[t.Node].talk.joins {
		return v.Thread.lastData()
	}
	th := *v.Thread
	delta := t.talkDelta()
	for i := range delta.Add {
		th.setLast(&delta.Add[i], t.Rank)
	}
	return th.lastData()
}

// Conversation returns the run's shared conversation, and its messages from this run.
func (s *State) Conversation() (all, own []Message) {
	shared, added := s.root().sharedMessages()
	return s.Talk.messages(shared), s.Talk.messages(added)
}

// addedMessages returns what a subgraph adds to the conversation around it.
func (sc *Scope) addedMessages() *TalkDelta {
	if !sc.Continues {
		return nil
	}
	_, added := sc.sharedMessages()
	return &TalkDelta{Add: sc.state.Talk.messages(added)}
}

// sharedMessages returns the shared list of the scope, and the messages added in the scope.
func (sc *Scope) sharedMessages() (all, added []int) {
	if v, _ := sc.mergeAllTasks(); v.Thread != nil {
		all = v.Thread.Shared
	}
	return all, slices.DeleteFunc(slices.Clone(all), func(at int) bool { return at < sc.Given })
}

// newThread returns the first thread of a scope, or nil without model nodes. A graph node with
// `conversation: continuous` continues the list around it.
func (p *Plan) newThread(s *State, sc *Scope) *thread {
	if !p.talks {
		return nil
	}
	th := &thread{}
	if sc.Outer == 0 {
		for _, m := range s.Run.Talk {
			th.Shared = s.Talk.addMessage(th.Shared, said{Message: m})
			th.setLast(&m, 0)
		}
	} else if owner := sc.owner; owner != nil && sc.Call == 0 {
		around := owner.view().Thread
		if around != nil && owner.scope.plan.nodes[owner.Node].talk.joins {
			th.Text, th.Result, sc.Continues = around.Text, around.Result, true
			for _, m := range s.Talk.messages(around.Shared) {
				m.Node = "../" + m.Node // a node of the scope may have the same name
				th.Shared = s.Talk.addMessage(th.Shared, said{Message: m})
			}
		}
	}
	sc.Given = len(s.Talk)
	return th
}
