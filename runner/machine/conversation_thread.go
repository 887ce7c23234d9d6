// Threads: what a branch carries of the conversation.

package machine

import (
	"maps"
	"slices"

	"github.com/graphrun/graphrun/eval"
)

// Limits of what a thread remembers of the nodes on its way.
const (
	maxRan       = 16
	maxDone      = 24
	maxRanOutput = 400 // bytes
)

// thread is the position of a branch in the conversation. It never changes once a task has
// it: branches that split share it. A graph without model nodes has none.
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
	// At is the rank of that step.
	Text   *string `json:"text,omitempty"`
	Result any     `json:"result,omitempty"`
	At     int     `json:"at,omitempty"`
	// Prior is, by node, what a model node's last visit gave, as text.
	Prior map[int]string `json:"prior,omitempty"`
}

// updateThread adds what a finished step said to its branch's conversation.
func (t *Task) updateThread() {
	before := t.view().Thread
	if t.Thread = nil; before == nil || t.Skipped || t.Refused {
		return
	}
	th := *before
	if t.Failure == nil {
		delta := t.delta()
		if n := &t.scope.plan.nodes[t.Node]; n.talk.joins {
			t.addToThread(&th, n, delta)
		}
	}
	t.recordRan(&th)
	t.Thread = &th
}

// delta returns what a step added to the conversation, elements in their order.
func (t *Task) delta() *TalkDelta {
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

// addToThread appends what a task said to a thread.
func (t *Task) addToThread(th *thread, n *node, delta *TalkDelta) {
	goesOn := th.continuesPrivateList(n, t.Node)
	isPrivate := goesOn || n.talk.isolated && n.talk.model
	switch closes := n.talk.model && !openCalls(delta.Add); {
	case isPrivate && closes: // nobody will hear it again
		th.Private, th.Before, th.Begun = 0, nil, 0
	case goesOn:
		th.Private = t.said(n, th.Private, delta)
	case isPrivate:
		th.Private, th.Owner = t.said(n, 0, delta), t.Node
		th.Before, th.Begun = th.Done, th.Steps
	default:
		list := th.Shared
		if n.talk.reset && len(t.visibleMessages(n)) == 0 {
			list = 0
		}
		th.Shared, th.Private = t.said(n, list, delta), 0
	}
	for i := range delta.Add {
		th.updateLast(&delta.Add[i], t.Rank)
	}
	if n.talk.model {
		th.Ran = nil
	}
}

// continuesPrivateList reports whether a node continues the private list: a tool node, or
// the node that owns the list.
func (th *thread) continuesPrivateList(n *node, at int) bool {
	return th.Private != 0 && (!n.talk.model || th.Owner == at)
}

// said returns a list with what a task added to it.
func (t *Task) said(n *node, list int32, delta *TalkDelta) int32 {
	c := &t.scope.state.Talk
	if delta.Drop > 0 && delta.Summary != nil {
		heard := t.visibleMessages(n)
		summary := *delta.Summary
		summary.Node = n.id
		list = c.compact(list, heard[:min(delta.Drop, len(heard))], summary)
	}
	for _, m := range delta.Add {
		m.Node = n.id
		list = c.say(list, said{Message: m})
	}
	return list
}

// openCalls reports whether what a model said ends in tool calls.
func openCalls(added []Message) bool {
	return len(added) > 0 && len(added[len(added)-1].ToolCalls) > 0
}

// updateLast sets what expressions see as `last`.
func (th *thread) updateLast(m *Message, at int) {
	switch m.Role {
	case "assistant":
		text := m.Content
		th.Text, th.At = &text, at
	case "tool":
		th.Result, th.At = m.Content, at
	}
}

// talkOf returns what an event adds to the conversation. An answer from the cache is said
// again.
func (t *Task) talkOf(e *Event) *TalkDelta {
	if e.Talk == nil && e.Cached && t.scope.plan.nodes[t.Node].talk.model {
		return &TalkDelta{Add: []Message{{Role: "assistant", Content: eval.Text(e.Output)}}}
	}
	return e.Talk
}

// recordRan notes in the thread that a node ran, for the next model.
func (t *Task) recordRan(th *thread) {
	n := &t.scope.plan.nodes[t.Node]
	failed := t.Failure != nil
	th.Steps++
	th.Done = lastOf(append(slices.Clip(th.Done), n.id), maxDone)
	if n.talk.reset && !n.talk.joins {
		th.Shared, th.Private, th.Ran = 0, 0, nil
	}
	if !n.talk.model || failed {
		ran := Ran{Node: n.id, Task: t.ID}
		if failed {
			ran.Failed, ran.Output = true, cut(t.Failure.Kind+": "+t.Failure.Message, maxRanOutput)
		} else {
			ran.Output = preview(eval.Brief(t.Output), maxRanOutput)
		}
		th.Ran = lastOf(append(slices.Clip(th.Ran), ran), maxRan)
	}
	if result, is := resultOf(n.kind, t); is {
		th.Result, th.At = result, t.Rank
	}
	if n.talk.model && n.talk.feedback && !failed {
		th.Prior = maps.Clone(th.Prior)
		if th.Prior == nil {
			th.Prior = map[int]string{}
		}
		th.Prior[t.Node] = eval.Text(t.Output)
	}
}

// resultOf returns the result of the last tool call of a node that called tools.
func resultOf(kind string, t *Task) (any, bool) {
	if t.Failure != nil {
		return nil, false
	}
	switch output := t.Output; kind {
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

// mergeThreads returns the thread of a joined task. tasks are in declaration order of their
// branches, which split at a view.
func (sc *Scope) mergeThreads(tasks []*Task, parted *View) *thread {
	threads := make([]*thread, len(tasks))
	for i, t := range tasks {
		threads[i] = t.view().Thread
	}
	first, before, fork := threads[0], 0, 0
	if parted.Thread != nil {
		before, fork = parted.Thread.At, parted.Thread.Steps
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
		if other.At > before && other.At >= th.At { // something was said on this branch
			th.Text, th.Result, th.At = other.Text, other.Result, other.At
		}
		if len(other.Prior) > 0 {
			prior := maps.Clone(other.Prior)
			maps.Copy(prior, th.Prior)
			th.Prior = prior
		}
		th.Ran = mergeRan(th.Ran, other.Ran)
		done, steps := first.parted(other, fork)
		th.Done, th.Steps = lastOf(slices.Concat(th.Done, done), maxDone), th.Steps+steps
	}
	th.Shared = sc.state.Talk.merge(lists)
	return &th
}

// parted returns the steps of other that th does not have, as far as other lists them, and
// their number. Both share their first steps, at least fork of them.
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

// mergeRan returns what ran on either branch, in declaration order.
func mergeRan(a, b []Ran) []Ran {
	out := slices.Clip(a)
	for _, ran := range b {
		if !slices.ContainsFunc(a, func(other Ran) bool { return other.Task == ran.Task }) {
			out = append(out, ran)
		}
	}
	return lastOf(out, maxRan)
}

// last returns what expressions see as `last`.
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

// lastSaid returns what a model and a tool last said in the step's past and in the step.
func (t *Task) lastSaid(v *View) map[string]any {
	if v.Thread == nil || t.Done || !t.scope.plan.nodes[t.Node].talk.joins {
		return v.Thread.last()
	}
	th := *v.Thread
	delta := t.delta()
	for i := range delta.Add {
		th.updateLast(&delta.Add[i], t.Rank)
	}
	return th.last()
}

// Conversation returns the messages of the run's shared conversation as it stands, and
// those of them that were said in this run, not before it.
func (s *State) Conversation() (all, own []Message) {
	root := s.root()
	places := root.finalList()
	all = s.Talk.messages(places)
	return all, s.Talk.messages(slices.DeleteFunc(slices.Clone(places), func(at int32) bool { return at < root.Given }))
}

// said returns what was said in a scope.
func (sc *Scope) said() *TalkDelta {
	if th := sc.Views[0].Thread; th == nil || !sc.Continues {
		return nil
	}
	places := slices.DeleteFunc(sc.finalList(), func(at int32) bool { return at < sc.Given })
	return &TalkDelta{Add: slices.Clone(sc.state.Talk.messages(places))}
}

func (sc *Scope) finalList() []int32 {
	v, _ := sc.mergeAll()
	if v.Thread == nil {
		return nil
	}
	return sc.state.Talk.of(v.Thread.Shared, 0)
}

// firstThread returns the first thread of a scope, or nil if it has no model nodes. A graph
// node with `conversation: continuous` continues the list around it.
func (p *Plan) firstThread(s *State, sc *Scope) *thread {
	if !p.talks {
		return nil
	}
	th := &thread{}
	if sc.Outer == 0 {
		for _, m := range s.Run.Talk {
			th.Shared = s.Talk.say(th.Shared, said{Message: m})
			th.updateLast(&m, 0)
		}
	} else if owner := sc.owner; owner != nil && sc.Call == 0 {
		outer := owner.scope
		if around := owner.view().Thread; around != nil && outer.plan.nodes[owner.Node].talk.joins {
			th.Text, th.Result, sc.Continues = around.Text, around.Result, true
			for _, m := range s.Talk.messages(s.Talk.of(around.Shared, 0)) {
				m.Node = "../" + m.Node // it is none of the scope's own nodes, even of the same name
				th.Shared = s.Talk.say(th.Shared, said{Message: m})
			}
		}
	}
	sc.Given = int32(len(s.Talk.Said))
	return th
}
