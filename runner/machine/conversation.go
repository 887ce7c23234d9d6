// The conversation: messages that all model nodes share (GraphSpec §9). Branches share the messages
// from before they split. After a join, the list holds the shared messages, then what each branch
// added, in declaration order.

package machine

import (
	"cmp"
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/spec"
)

// conversation holds each message of a run once. Lists refer to messages by index, which never changes.
type conversation []entry

// entry is a message. Covers lists the messages that it summarises.
type entry struct {
	Message
	Covers []int `json:"covers,omitempty"`
}

func (c *conversation) addMessage(list []int, m entry) []int {
	*c = append(*c, m)
	return append(slices.Clip(list), len(*c)-1)
}

func (c conversation) messages(list []int) []Message {
	out := make([]Message, len(list))
	for i, at := range list {
		out[i] = c[at].Message
	}
	return out
}

// mergeLists joins the lists of branches: their shared beginning, then summaries, then other messages.
func (c conversation) mergeLists(lists [][]int) []int {
	shared := lists[0]
	for _, list := range lists[1:] {
		n := 0
		for n < min(len(shared), len(list)) && shared[n] == list[n] {
			n++
		}
		shared = shared[:n]
	}
	var summaries, others []int
	seen, covered := map[int]bool{}, map[int]bool{}
	for _, list := range lists {
		for _, at := range list[len(shared):] {
			switch {
			case seen[at]:
			case c[at].Covers == nil:
				others = append(others, at)
			default:
				summaries = append(summaries, at)
				for _, old := range c[at].Covers {
					covered[old] = true
				}
			}
			seen[at] = true
		}
	}
	added := slices.DeleteFunc(append(summaries, others...), func(at int) bool { return covered[at] })
	return append(slices.Clip(shared), added...)
}

// compactList replaces covered messages of a list with a summary.
func (c *conversation) compactList(list, covered []int, summary Message) []int {
	all := slices.Clone(covered)
	for _, at := range covered {
		all = append(all, (*c)[at].Covers...) // a summary of summaries
	}
	kept := slices.DeleteFunc(slices.Clone(list), func(at int) bool { return slices.Contains(covered, at) })
	return append(c.addMessage(nil, entry{summary, all}), kept...)
}

// Message is one turn of a conversation.
type Message = model.Message

// ToolCall is a call of a tool by a model.
type ToolCall = model.ToolCall

// Part is a piece of a message: a text, an image, a file or audio.
type Part = model.Part

// TalkDelta holds a task's changes to the conversation.
type TalkDelta struct {
	// Drop counts the oldest messages that Summary replaces. Add does not contain the summary.
	Drop    int      `json:"drop,omitempty"`
	Summary *Message `json:"summary,omitempty"`
	// Add are new messages, in order. Their Node is set when they are applied.
	Add []Message `json:"add,omitempty"`
}

// Talk is the conversation as one task sees it.
type Talk struct {
	// Messages are the messages that the node sees, oldest first.
	Messages []Message
	// Own means that the visit has its own list of messages. Done and Steps are from when the list
	// began.
	Own bool
	// Continues means that Messages ends with the results of this node's own tool calls.
	Continues bool
	// Moved means that another model node spoke last. Ran lists the nodes since then.
	Moved bool
	Ran   []FinishedNode
	// Done lists the last maxDone nodes of the task's past; Steps counts all of them.
	Done  []string
	Steps int
	// Prior is the output of an earlier visit, if HasPrior is set.
	Prior    string
	HasPrior bool
	// Feedback means that the prompt mentions earlier visits.
	Feedback bool
	// MaxTokens is the length above which messages before the last KeepLast turns are summarised;
	// 0 means never.
	MaxTokens int
	KeepLast  int
}

// FinishedNode is a node that finished since a model last spoke.
type FinishedNode struct {
	Node string `json:"node"`
	// Output is the beginning of its output as JSON, or of its failure.
	Output string `json:"output"`
	Failed bool   `json:"failed,omitempty"`
	// Task identifies the visit, so that a join lists it once.
	Task int `json:"task"`
}

// talkSettings are the conversation settings of a node.
type talkSettings struct {
	joins    bool // the node reads and adds messages
	model    bool // the node calls a model
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

// newTalkSettings reads the conversation settings of a node. The graph's settings are the defaults.
func newTalkSettings(g *spec.Graph, n *spec.Node) talkSettings {
	kind := n.Kind.Value
	t := talkSettings{model: kind == "llm" || kind == "agent", see: "all", feedback: g.Feedback}
	t.joins = t.model || kind == "tools" || kind == "graph" && conversationMode(n.Conversation) == "continuous"
	if n.Feedback != nil {
		t.feedback = *n.Feedback
	}
	t.readSettings(g.Conversation)
	t.readSettings(n.Conversation)
	return t
}

func (t *talkSettings) readSettings(v *spec.Value) {
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
	if mode := conversationMode(v); mode != "" {
		t.isolated, t.reset = mode == "isolated", mode == "reset"
	}
}

// conversationMode returns the mode in a `conversation`, or "".
func conversationMode(v *spec.Value) string {
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
	if own := th.findPrivateList(n, t.Node); out.Own && own != nil {
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
	if own := th.findPrivateList(n, t.Node); own != nil {
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

// endsInResults reports whether messages end with the tool results of the node's last answer.
func endsInResults(messages []Message, node string) bool {
	i := len(messages) - 1
	for i >= 0 && messages[i].Role == "tool" {
		i--
	}
	return i >= 0 && i < len(messages)-1 && messages[i].Node == node && len(messages[i].ToolCalls) > 0
}

// lastSpeaker returns the node of the last model answer, or "".
func lastSpeaker(messages []Message) string {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == "assistant" {
			return messages[i].Node
		}
	}
	return ""
}

// Limits of what a prompt says about earlier nodes.
const (
	maxRan       = 16
	maxDone      = 24
	maxRanOutput = 400 // bytes
)

// thread is the state of the conversation on a branch. Branches share threads, which never change. A
// graph without model nodes has none.
type thread struct {
	// Shared is the list that all nodes share.
	Shared  []int        `json:"shared,omitempty"`
	Private *privateList `json:"private,omitempty"`
	// Ran are the nodes that finished since a model last spoke.
	Ran []FinishedNode `json:"ran,omitempty"`
	// Text is the last model answer, Result the last tool result, At the rank of the step that set
	// either.
	Text   *string `json:"text,omitempty"`
	Result any     `json:"result,omitempty"`
	At     int     `json:"at,omitempty"`
}

// privateList is the list of an isolated node while its tool calls are being answered.
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
	th, n := *before, t.node()
	if t.Failure == nil && n.talk.joins {
		t.addToThread(&th, n)
	}
	t.recordRan(&th, n)
	t.Thread = &th
}

// talkDelta returns what a step added to the conversation, in the order of its elements.
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
	own := th.findPrivateList(n, t.Node)
	switch isPrivate := own != nil || n.talk.isolated && n.talk.model; {
	case isPrivate && n.talk.model && !endsInCalls(delta.Add): // nothing will read the list again
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

// findPrivateList returns the private list that a tool node or its owner continues, or nil.
func (th *thread) findPrivateList(n *node, at int) *privateList {
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
		list = c.addMessage(list, entry{Message: m})
	}
	return list
}

// endsInCalls reports whether the messages of a model end with tool calls.
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

// eventDelta returns what an event adds to the conversation. It adds a cached answer like a new one.
func (t *Task) eventDelta(e *Event) *TalkDelta {
	if e.Talk == nil && e.Cached && t.node().talk.model {
		return &TalkDelta{Add: []Message{{Role: "assistant", Content: eval.Text(e.Output)}}}
	}
	return e.Talk
}

func (t *Task) recordRan(th *thread, n *node) {
	if n.talk.reset && !n.talk.joins {
		th.Shared, th.Private, th.Ran = nil, nil, nil
	}
	if !n.talk.model || t.Failure != nil {
		ran := FinishedNode{Node: n.id, Task: t.ID}
		if t.Failure != nil {
			ran.Failed, ran.Output = true, cutText(t.Failure.Kind+": "+t.Failure.Message, maxRanOutput)
		} else {
			ran.Output = previewValue(eval.ShortenURIs(t.output()), maxRanOutput)
		}
		th.Ran = mergeFinishedNodes(th.Ran, []FinishedNode{ran})
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

// mergeFinishedNodes appends the entries of b to a, each visit once, and keeps the last maxRan.
func mergeFinishedNodes(a, b []FinishedNode) []FinishedNode {
	out := slices.Clip(a)
	for _, ran := range b {
		if !slices.ContainsFunc(a, func(other FinishedNode) bool { return other.Task == ran.Task }) {
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
		th.Private = cmp.Or(th.Private, other.Private)
		if other.At >= th.At {
			th.Text, th.Result, th.At = other.Text, other.Result, other.At
		}
		th.Ran = mergeFinishedNodes(th.Ran, other.Ran)
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

// lastMessages returns `last` as a task sees it, including the messages that the task has added.
func (t *Task) lastMessages(v *View) map[string]any {
	if v.Thread == nil || t.Done || !t.node().talk.joins {
		return v.Thread.lastData()
	}
	th := *v.Thread
	delta := t.talkDelta()
	for i := range delta.Add {
		th.setLast(&delta.Add[i], t.Rank)
	}
	return th.lastData()
}

// Conversation returns the run's shared conversation, and the messages of it that this run added.
func (s *State) Conversation() (all, own []Message) {
	shared, added := s.root().sharedMessages()
	return s.Talk.messages(shared), s.Talk.messages(added)
}

// addedMessages returns what a subgraph adds to the conversation of the outer graph.
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

// newThread returns the first thread of a scope, or nil if there are no model nodes. With
// `conversation: continuous` a graph node continues the list of the outer graph.
func (p *Plan) newThread(s *State, sc *Scope) *thread {
	if !p.talks {
		return nil
	}
	th := &thread{}
	if sc.Outer == 0 {
		for _, m := range s.Run.Talk {
			th.Shared = s.Talk.addMessage(th.Shared, entry{Message: m})
			th.setLast(&m, 0)
		}
	} else if owner := sc.owner; owner != nil && sc.Call == 0 {
		around := owner.view().Thread
		if around != nil && owner.scope.plan.nodes[owner.Node].talk.joins {
			th.Text, th.Result, sc.Continues = around.Text, around.Result, true
			for _, m := range s.Talk.messages(around.Shared) {
				m.Node = "../" + m.Node // a node of the scope may have the same name
				th.Shared = s.Talk.addMessage(th.Shared, entry{Message: m})
			}
		}
	}
	sc.Given = len(s.Talk)
	return th
}
