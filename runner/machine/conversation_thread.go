// Threads: what a token carries of the conversation along its way.

package machine

import (
	"slices"

	"github.com/graphrun/graphrun/eval"
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
	// Shared is the list that all nodes share; Private that of an isolated node
	// whose tool calls are being answered, and Owner that node.
	Shared  int32 `json:"shared,omitempty"`
	Private int32 `json:"private,omitempty"`
	Owner   int   `json:"owner,omitempty"`
	// Before and Begun are Done and Steps of when the private list began.
	Before []string `json:"before,omitempty"`
	Begun  int      `json:"begun,omitempty"`
	// Ran is what finished since a model last spoke; Done, of all Steps so far,
	// the last.
	Ran   []Ran    `json:"ran,omitempty"`
	Done  []string `json:"done,omitempty"`
	Steps int      `json:"steps,omitempty"`
	// Text and Result are what a model last said, and what a tool last gave;
	// At is when, in the order of finished tasks.
	Text   *string `json:"text,omitempty"`
	Result any     `json:"-"`
	At     int     `json:"at,omitempty"`
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
	th := *before
	goesOn := th.goesOn(n, t.node)
	isPrivate := goesOn || n.talk.isolated && n.talk.model
	switch closes := n.talk.model && !openCalls(delta.Add); {
	case isPrivate && closes: // nobody will hear it again
		th.Private, th.Before, th.Begun = 0, nil, 0
	case goesOn:
		th.Private = p.said(s, t, th.Private, delta)
	case isPrivate:
		th.Private, th.Owner = p.said(s, t, 0, delta), t.node
		th.Before, th.Begun = th.Done, th.Steps
	default:
		list := th.Shared
		if n.talk.reset && len(p.heard(s, t)) == 0 {
			list = 0
		}
		th.Shared, th.Private = p.said(s, t, list, delta), 0
	}
	for i := range delta.Add {
		th.hear(&delta.Add[i], s.order+1)
	}
	if n.talk.model {
		th.Ran = nil
	}
	t.thread = &th
	return before
}

// goesOn reports whether a node goes on with the private list: any that runs the
// tools, and the node whose list it is.
func (th *thread) goesOn(n *node, at int) bool {
	return th.Private != 0 && (!n.talk.model || th.Owner == at)
}

// said is a list with what a task added to it.
func (p *Plan) said(s *State, t *task, list int32, delta *TalkDelta) int32 {
	c, id := &s.conversation, p.nodes[t.node].id
	if delta.Drop > 0 && delta.Summary != nil {
		heard := p.heard(s, t)
		summary := *delta.Summary
		summary.Node = id
		list = c.compact(list, heard[:min(delta.Drop, len(heard))], summary)
	}
	for _, m := range delta.Add {
		m.Node = id
		list = c.say(list, said{Message: m})
	}
	return list
}

// openCalls reports whether what a model said ends in tool calls.
func openCalls(added []Message) bool {
	return len(added) > 0 && len(added[len(added)-1].ToolCalls) > 0
}

// hear keeps what `last` shows.
func (th *thread) hear(m *Message, at int) {
	switch m.Role {
	case "assistant":
		text := m.Content
		th.Text, th.At = &text, at
	case "tool":
		th.Result, th.At = m.Content, at
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
	if t.status != succeeded && t.status != failed || t.skipped {
		return
	}
	n := &p.nodes[t.node]
	th := *t.thread
	th.Steps++
	th.Done = lastOf(append(slices.Clip(th.Done), n.id), maxDone)
	if n.talk.reset && !n.talk.joins {
		th.Shared, th.Private, th.Ran = 0, 0, nil
	}
	if !n.talk.model || t.status == failed {
		ran := Ran{Node: n.id, Order: t.order}
		if t.status == failed {
			ran.Failed, ran.Output = true, cut(t.failure.Kind+": "+t.failure.Message, maxRanOutput)
		} else {
			ran.Output = preview(eval.Brief(Plain(t.output)), maxRanOutput)
		}
		th.Ran = lastOf(append(slices.Clip(th.Ran), ran), maxRan)
	}
	if result, is := resultOf(n.kind, t); is {
		th.Result, th.At = result, t.order
	}
	if n.talk.model && n.talk.feedback && t.status == succeeded {
		if s.conversation.Prior == nil {
			s.conversation.Prior = map[int]string{}
		}
		s.conversation.Prior[t.node] = textOf(t.output)
	}
	t.thread = &th
}

// resultOf is the result of the last tool call of a node that called tools.
func resultOf(kind string, t *task) (any, bool) {
	if t.status != succeeded {
		return nil, false
	}
	switch output := Plain(t.output); kind {
	case "tool":
		return output, true
	case "tools":
		if list, ok := output.([]any); ok && len(list) > 0 {
			last, _ := list[len(list)-1].(map[string]any)
			return last["output"], true
		}
	}
	return nil, false
}

func lastOf[T any](list []T, n int) []T {
	if len(list) > n {
		return slices.Clone(list[len(list)-n:])
	}
	return list
}

// mergeThreads is the thread of a token that several become, which are given in
// declaration order of their branches. They parted in a fan-out, nil: unknown.
// Which branch was quicker makes no difference.
func (s *State) mergeThreads(threads []*thread, parted *fanout) *thread {
	first, before, fork := threads[0], 0, 0
	if parted != nil && parted.thread != nil {
		before, fork = parted.thread.At, parted.thread.Steps
	}
	if first == nil || len(threads) == 1 {
		return first
	}
	th := *first
	lists := make([]int32, len(threads))
	for i, other := range threads {
		lists[i] = other.Shared
		if i == 0 || other == first {
			continue
		}
		if th.Private == 0 {
			th.Private, th.Owner, th.Before, th.Begun = other.Private, other.Owner, other.Before, other.Begun
		}
		if other.At > before { // something was said on this branch
			th.Text, th.Result = other.Text, other.Result
		}
		th.At = max(th.At, other.At)
		th.Ran = mergeRan(th.Ran, other.Ran)
		done, steps := first.parted(other, fork)
		th.Done, th.Steps = lastOf(slices.Concat(th.Done, done), maxDone), th.Steps+steps
	}
	th.Shared = s.conversation.merge(lists)
	return &th
}

// parted are the steps by which other goes beyond what it shares with th, as far as
// its list of them goes, and how many there are. Both share their first steps, fork
// of them at least.
func (th *thread) parted(other *thread, fork int) (done []string, steps int) {
	from, otherFrom := th.Steps-len(th.Done), other.Steps-len(other.Done)
	begin := max(from, otherFrom)
	shared := begin
	for shared < min(th.Steps, other.Steps) && th.Done[shared-from] == other.Done[shared-otherFrom] {
		shared++
	}
	if shared == begin {
		shared = fork // whether they share more is no longer known
	}
	return other.Done[max(0, shared-otherFrom):], other.Steps - shared
}

// arriveAtEnd takes the thread of a branch that has reached END.
func (s *State) arriveAtEnd(th *thread) {
	if s.endThread != nil {
		th = s.mergeThreads([]*thread{s.endThread, th}, nil)
	}
	s.endThread = th
}

// joinThreads is the thread of a join, from its arrivals.
func (s *State) joinThreads(arrivals []arrival) *thread {
	inOrder := slices.Clone(arrivals)
	slices.SortStableFunc(inOrder, func(a, b arrival) int { return a.at.compare(b.at) })
	threads, parted := make([]*thread, len(inOrder)), inOrder[0].at
	for i := range inOrder {
		threads[i], parted = inOrder[i].thread, common(parted, inOrder[i].at)
	}
	return s.mergeThreads(threads, parted.fan)
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
		out["tool_result"] = th.Result
		if th.Text != nil {
			out["text"] = *th.Text
		}
	}
	return out
}

// Conversation returns the messages of a run's shared conversation where it
// ended: of all branches that reached END, else of the task that finished last.
func (s *State) Conversation() []Message {
	return s.conversation.messages(s.finalList())
}

// Said returns those of them that were said in this run, not before it.
func (s *State) Said() []Message {
	return s.conversation.messages(slices.DeleteFunc(s.finalList(), func(at int32) bool { return at < s.conversation.Given }))
}

func (s *State) finalList() []int32 {
	th := s.endThread
	if th == nil {
		th = s.lastThread
	}
	return s.conversation.of(th.list(), 0)
}

// begin is the first thread of a run: nil when nobody in it talks.
func (p *Plan) firstThread(s *State, messages []Message) *thread {
	if !p.talks {
		return nil
	}
	th := &thread{}
	for _, m := range messages {
		th.Shared = s.conversation.say(th.Shared, said{Message: m})
		th.hear(&m, 0)
	}
	s.conversation.Given = int32(len(messages))
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
