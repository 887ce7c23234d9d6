// Threads: what a token carries of the conversation along its way.

package machine

import (
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/spec"
)

// Limits of what a thread remembers of the nodes on its way.
const (
	maxRan       = 16
	maxDone      = 24
	maxRanOutput = 400 // bytes
)

// thread is where a token stands in the conversation. It never changes once a
// task has it: tokens that part share it. Nil is the thread of a graph in which
// nobody talks.
type thread struct {
	// shared is the list that all nodes share; private that of an isolated node
	// whose tool calls are being answered, and owner that node.
	shared, private int32
	owner           int
	// ran is what finished since a model last spoke; done, of all steps so far,
	// the last.
	ran   []Ran
	done  []string
	steps int
	// text and result are what a model last said, and what its tool last gave;
	// at is when, in the order of finished tasks.
	text, result any
	at           int
}

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
	t.joins = t.model || kind == "tools"
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
	mode := v
	if v.Kind == spec.Map {
		mode = v.Get("mode")
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
	if mode != nil {
		t.isolated, t.reset = mode.Text.Value == "isolated", mode.Text.Value == "reset"
	}
}

// talkFor is the conversation as a task gets it.
func (p *Plan) talkFor(s *State, t *task) *Talk {
	n := &p.nodes[t.node]
	if !n.talk.joins || t.thread == nil {
		return nil
	}
	th := t.thread
	out := &Talk{
		Done: th.done, Steps: th.steps, Feedback: n.talk.feedback && t.visit > 1,
		MaxTokens: n.talk.maxTokens, KeepLast: n.talk.keepLast,
	}
	out.Messages = s.conversation.messages(p.heard(s, t))
	if !n.talk.model {
		return out
	}
	out.Continues = continues(out.Messages, n.id)
	if last := lastSpeaker(out.Messages); last != "" && last != n.id && n.talk.see != "own" {
		out.Moved, out.Ran = true, th.ran
	}
	if out.Feedback {
		out.Prior, out.HasPrior = s.conversation.prior[t.node]
	}
	return out
}

// heard is the part of the conversation that a task may see.
func (p *Plan) heard(s *State, t *task) []int32 {
	c, n, th := &s.conversation, &p.nodes[t.node], t.thread
	if th.private != 0 && (!n.talk.model || th.owner == t.node) {
		return c.of(th.private, 0)
	}
	list := c.of(th.shared, 0)
	switch {
	case n.talk.isolated && n.talk.model, n.talk.reset && !continues(c.messages(list), n.id):
		return nil
	case n.talk.see == "own":
		return slices.DeleteFunc(list, func(at int32) bool { return c.said[at].Node != n.id && !c.answers(at, n.id) })
	case n.talk.see == "branch" && t.at.fan != nil:
		before := map[int32]bool{}
		for _, at := range c.of(t.at.fan.thread.list(), 0) {
			before[at] = true
		}
		return slices.DeleteFunc(list, func(at int32) bool { return before[at] })
	}
	return list
}

// list is the shared list of a thread that may be nil.
func (th *thread) list() int32 {
	if th == nil {
		return 0
	}
	return th.shared
}

// answers reports whether a message is the result of a call that a node asked
// for: such a result is the node's own, whoever ran the tool.
func (c *conversation) answers(at int32, node string) bool {
	id := c.said[at].ToolCallID
	if id == "" {
		return false
	}
	for i := at - 1; i >= 0; i-- {
		for _, call := range c.said[i].ToolCalls {
			if call.ID == id {
				return c.said[i].Node == node
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

// listen takes what a task added to the conversation into its thread, and
// returns the thread from before.
func (p *Plan) listen(s *State, t *task, delta *TalkDelta) (before *thread) {
	before = t.thread
	n := &p.nodes[t.node]
	if before == nil || !n.talk.joins {
		return before
	}
	if delta == nil {
		delta = &TalkDelta{}
	}
	c, th := &s.conversation, *before
	heard := p.heard(s, t)
	isPrivate := th.private != 0 && (!n.talk.model || th.owner == t.node) || n.talk.isolated && n.talk.model
	list := th.shared
	switch {
	case isPrivate && th.private != 0 && (!n.talk.model || th.owner == t.node):
		list = th.private
	case isPrivate, n.talk.reset && len(heard) == 0:
		list = 0
	}
	if delta.Drop > 0 && delta.Summary != nil {
		summary := *delta.Summary
		summary.Node = n.id
		list = c.compact(list, heard[:min(delta.Drop, len(heard))], summary)
	}
	for _, m := range delta.Add {
		m.Node = n.id
		list = c.say(list, said{Message: m})
		th.hear(&m, s.order+1)
	}
	switch open := openCalls(delta.Add); {
	case !isPrivate:
		th.shared, th.private = list, 0
	case n.talk.model && !open:
		th.private = 0
	default:
		if n.talk.model {
			th.owner = t.node
		}
		th.private = list
	}
	if n.talk.model {
		th.ran = nil
	}
	t.thread = &th
	return before
}

// openCalls reports whether what a model said ends in tool calls.
func openCalls(added []Message) bool {
	return len(added) > 0 && len(added[len(added)-1].ToolCalls) > 0
}

// hear keeps what `last` shows.
func (th *thread) hear(m *Message, at int) {
	switch m.Role {
	case "assistant":
		th.text, th.at = m.Content, at
	case "tool":
		th.result, th.at = m.Content, at
	}
}

// talkOf is what an event adds to the conversation. An answer from the cache is
// said again.
func talkOf(e *Event, n *node) *TalkDelta {
	if e.Talk == nil && e.Cached && n.talk.model {
		return &TalkDelta{Add: []Message{{Role: "assistant", Content: textOf(e.Output)}}}
	}
	return e.Talk
}

// passBy notes in the thread of a finished task that its node ran.
func (p *Plan) passBy(s *State, t *task) {
	if t.thread == nil || t.status != succeeded && t.status != failed || t.skipped {
		return
	}
	n := &p.nodes[t.node]
	th := *t.thread
	th.steps++
	th.done = lastOf(append(slices.Clip(th.done), n.id), maxDone)
	if n.talk.reset && !n.talk.joins {
		th.shared, th.private, th.ran = 0, 0, nil
	}
	if !n.talk.model || t.status == failed {
		ran := Ran{Node: n.id, Order: t.order}
		if t.status == failed {
			ran.Failed, ran.Output = true, preview(t.failure.Kind+": "+t.failure.Message, maxRanOutput)
		} else {
			ran.Output = preview(Plain(t.output), maxRanOutput)
		}
		th.ran = lastOf(append(slices.Clip(th.ran), ran), maxRan)
	}
	if n.kind == "tool" && t.status == succeeded {
		th.result, th.at = Plain(t.output), t.order
	}
	if n.talk.model && n.talk.feedback && t.status == succeeded {
		if s.conversation.prior == nil {
			s.conversation.prior = map[int]any{}
		}
		s.conversation.prior[t.node] = Plain(t.output)
	}
	t.thread = &th
}

func lastOf[T any](list []T, n int) []T {
	if len(list) > n {
		return slices.Clone(list[len(list)-n:])
	}
	return list
}

// mergeThreads is the thread of a token that several become, which are given in
// declaration order of their branches.
func (s *State) mergeThreads(threads []*thread) *thread {
	first := threads[0]
	if first == nil || len(threads) == 1 {
		return first
	}
	th := *first
	lists := make([]int32, len(threads))
	for i, other := range threads {
		lists[i] = other.shared
		if i == 0 || other == first {
			continue
		}
		if th.private == 0 {
			th.private, th.owner = other.private, other.owner
		}
		if other.at > th.at {
			th.text, th.result, th.at = other.text, other.result, other.at
		}
		th.ran = mergeRan(th.ran, other.ran)
		same := 0
		for same < min(len(first.done), len(other.done)) && first.done[same] == other.done[same] {
			same++
		}
		th.done = lastOf(slices.Concat(th.done, other.done[same:]), maxDone)
		th.steps += len(other.done) - same
	}
	th.shared = s.conversation.merge(lists)
	return &th
}

// joinThreads is the thread of a join, from its arrivals.
func (s *State) joinThreads(arrivals []arrival) *thread {
	inOrder := slices.Clone(arrivals)
	slices.SortStableFunc(inOrder, func(a, b arrival) int { return a.at.compare(b.at) })
	threads := make([]*thread, len(inOrder))
	for i := range inOrder {
		threads[i] = inOrder[i].thread
	}
	return s.mergeThreads(threads)
}

// mergeRan is what ran on either way, in declaration order.
func mergeRan(a, b []Ran) []Ran {
	out := slices.Clip(a)
	for _, ran := range b {
		if !slices.ContainsFunc(a, func(other Ran) bool { return other.Order == ran.Order }) {
			out = append(out, ran)
		}
	}
	return lastOf(out, maxRan)
}

// last is what expressions see as `last`.
func (th *thread) last() map[string]any {
	out := map[string]any{"text": nil, "tool_result": nil}
	if th != nil {
		out["text"], out["tool_result"] = th.text, th.result
	}
	return out
}

// Conversation returns the messages of a run's shared conversation where it
// ended, or stands: of the branch that finished last.
func (s *State) Conversation() []Message {
	if s.lastThread == nil {
		return nil
	}
	return s.conversation.messages(s.conversation.of(s.lastThread.shared, 0))
}

// begin is the first thread of a run: nil when nobody in it talks.
func (p *Plan) firstThread(s *State, messages []Message) *thread {
	if !p.talks {
		return nil
	}
	th := &thread{}
	for _, m := range messages {
		th.shared = s.conversation.say(th.shared, said{Message: m})
		th.hear(&m, 0)
	}
	return th
}

// textOf is an output as a message's text.
func textOf(v any) string { return eval.Text(Plain(v)) }

// said keeps what an element added to the conversation.
func (e *eachState) said(i int, delta *TalkDelta) {
	if delta == nil {
		return
	}
	if e.talk == nil {
		e.talk = map[int]*TalkDelta{}
	}
	e.talk[i] = delta
}

// allSaid is what all elements added, in element order.
func (e *eachState) allSaid() *TalkDelta {
	if e.talk == nil {
		return nil
	}
	out := &TalkDelta{}
	for i := range e.items {
		if delta := e.talk[i]; delta != nil {
			out.Add = append(out.Add, delta.Add...)
		}
	}
	return out
}
