// The conversation in snapshots. Threads, which several tasks may share, go by their
// place in a table.

package machine

import (
	"maps"
	"slices"
)

// savedThread is thread.
type savedThread struct {
	thread
	Result any `json:"result,omitempty"`
}

// savedTalk is what an element added to the conversation.
type savedTalk struct {
	Element int        `json:"element"`
	Delta   *TalkDelta `json:"delta"`
}

// thread is the place of a thread in the table, from 1; 0 for none.
func (k *saver) thread(th *thread) int {
	if th == nil {
		return 0
	}
	at, ok := k.threads[th]
	if !ok {
		k.threaded = append(k.threaded, savedThread{*th, k.pack(th.Result)})
		at = len(k.threaded)
		k.threads[th] = at
	}
	return at
}

func (k *saver) talk(deltas map[int]*TalkDelta) []savedTalk {
	var out []savedTalk
	for _, i := range slices.Sorted(maps.Keys(deltas)) {
		out = append(out, savedTalk{i, deltas[i]})
	}
	return out
}

func (r *restorer) restoreThreads(list []savedThread) {
	for i := range list {
		th := list[i].thread
		th.Result = r.unpack(list[i].Result)
		r.threads = append(r.threads, &th)
	}
}

func (r *restorer) thread(at int) *thread {
	if at == 0 || !r.within("thread", at-1, len(r.threads)) {
		return nil
	}
	return r.threads[at-1]
}

func (r *restorer) talk(e *eachState, list []savedTalk) {
	for _, talk := range list {
		e.said(talk.Element, talk.Delta)
	}
}
