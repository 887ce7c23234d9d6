// The progress of an `each`, in memory and in snapshots. Maps by element are lists in
// element order there.

package machine

import (
	"slices"
)

// eachState is the progress of such a node: what it holds grows with the window
// and the results, not with the work.
type eachState struct {
	items   []any
	results []any
	next    int   // first element that was never started
	again   []int // elements that are to run again, in the order in which they became due
	// running holds the attempts in the driver, by element.
	running map[int]*elementRun
	// attempts holds the last attempt of the elements that wait for another.
	attempts map[int]failedAttempt
	// asking holds what elements have asked people, until they run again, and
	// answered what those had asked that wait for another attempt.
	asking   map[int]*questions
	answered map[int]*questions
	size     int // of the results that the driver brought
	failed   int
	failure  *Failure // that settles the node
	// lowest is the failure of the first element, in element order, that failed:
	// what stands when all do, whichever was the last.
	lowest      *Failure
	lowestIndex int
	tolerate    bool     // continue_others, wait_all
	cut         *eachCut // what a failure or a cancellation took from the node
	// talk is what the elements added to the conversation, by element.
	talk map[int]*TalkDelta
}

// failedAttempt is an attempt of an element after which another follows, and
// when (Unix nanoseconds).
type failedAttempt struct {
	attempt int
	until   int64
}

// elementRun is one attempt of one element.
type elementRun struct {
	attempt int
	cause   *Failure   // why it was cancelled
	asked   *questions // when it ran before
	ends    int64      // when its time is over; 0: never
}

// eachCut is what a cancellation or a failure took from a node with an `each`: its
// elements go on from here when the run is taken up again.
type eachCut struct {
	next     int
	again    []int
	attempts map[int]failedAttempt
	asking   map[int]*questions
	// running holds the elements whose attempts were cancelled, failed those that
	// failed for good.
	running map[int]*elementRun
	failed  map[int]*elementRun
}

// cutOff notes what is about to be taken from a node with an `each`.
func (e *eachState) cutOff() *eachCut {
	if e.cut == nil {
		e.cut = &eachCut{running: map[int]*elementRun{}, failed: map[int]*elementRun{}, next: -1}
	}
	return e.cut
}

// keep remembers what is still to do, once.
func (c *eachCut) keep(e *eachState) {
	if c.next >= 0 {
		return
	}
	c.next, c.again = e.next, slices.Clone(e.again)
	c.attempts, c.asking = map[int]failedAttempt{}, map[int]*questions{}
	for _, i := range sortedAttempts(e.attempts) {
		c.attempts[i] = e.attempts[i]
	}
	for _, i := range sortedQuestions(e.asking) {
		c.asking[i] = e.asking[i]
	}
}

func sortedElements(running map[int]*elementRun) []int {
	out := make([]int, 0, len(running))
	for i := range running { //lint:ignore mapiter sorted below
		out = append(out, i)
	}
	slices.Sort(out)
	return out
}

func sortedAttempts(attempts map[int]failedAttempt) []int {
	out := make([]int, 0, len(attempts))
	for i := range attempts { //lint:ignore mapiter sorted below
		out = append(out, i)
	}
	slices.Sort(out)
	return out
}

// updates gathers the writes of many elements: where a reducer allows, those to
// one key become one.
type updates struct {
	plan  *Plan
	keys  []int
	byKey map[int][]any
	size  int // of all updates
}

func newUpdates(p *Plan) *updates { return &updates{plan: p, byKey: map[int][]any{}} }

func (u *updates) add(w write) {
	key, update := w.key, w.update
	u.size += w.size
	list, seen := u.byKey[key]
	if !seen {
		u.keys = append(u.keys, key)
	}
	switch u.plan.keys[key].reducer {
	case reduceReplace:
		u.byKey[key] = append(list[:0], update)
	case reduceAppend, reduceUnion:
		u.byKey[key] = append(list, listOf(update)...)
	default:
		u.byKey[key] = append(list, update)
	}
}

// writes appends the gathered writes, keys in the order of their first write.
func (u *updates) writes(dst []write) []write {
	for _, key := range u.keys {
		list := u.byKey[key]
		switch u.plan.keys[key].reducer {
		case reduceAppend, reduceUnion:
			dst = append(dst, write{key: key, update: list, size: sizeOf(list)})
		default:
			for _, update := range list {
				dst = append(dst, write{key: key, update: update, size: sizeOf(update)})
			}
		}
	}
	return dst
}

// savedEach is eachState. Maps by element are lists in element order.
type savedEach struct {
	Items       []any          `json:"items"`
	Results     []any          `json:"results"`
	Next        int            `json:"next"`
	Again       []int          `json:"again,omitempty"`
	Running     []savedElement `json:"running,omitempty"`
	Attempts    [][3]int64     `json:"attempts,omitempty"`
	Asking      []savedElement `json:"asking,omitempty"`
	Answered    []savedElement `json:"answered,omitempty"`
	Failed      int            `json:"failed,omitempty"`
	Failure     *int           `json:"failure,omitempty"`
	Lowest      *int           `json:"lowest,omitempty"`
	LowestIndex int            `json:"lowest_index,omitempty"`
	Tolerate    bool           `json:"tolerate,omitempty"`
	Talk        []savedTalk    `json:"talk,omitempty"`
	Cut         *savedCut      `json:"cut,omitempty"`
}

// savedCut is eachCut.
type savedCut struct {
	Next     int            `json:"next"`
	Again    []int          `json:"again,omitempty"`
	Attempts [][3]int64     `json:"attempts,omitempty"`
	Asking   []savedElement `json:"asking,omitempty"`
	Running  []savedElement `json:"running,omitempty"`
	Failed   []savedElement `json:"failed,omitempty"`
}

type savedElement struct {
	Element int             `json:"element"`
	Attempt int             `json:"attempt"`
	Cause   *int            `json:"cause,omitempty"`
	Asked   *savedQuestions `json:"asked,omitempty"`
	Ends    int64           `json:"ends,omitempty"`
}

func (k *saver) each(e *eachState) *savedEach {
	if e == nil {
		return nil
	}
	out := &savedEach{
		Items: k.packList(e.items), Results: k.packList(e.results), Next: e.next, Again: e.again, Failed: e.failed,
		Failure: k.failure(e.failure), Lowest: k.failure(e.lowest), LowestIndex: e.lowestIndex, Tolerate: e.tolerate,
		Talk: k.talk(e.talk),
	}
	out.Running, out.Attempts = k.elements(e.running), savedAttempts(e.attempts)
	out.Asking, out.Answered = k.questionsByElement(e.asking), k.questionsByElement(e.answered)
	if c := e.cut; c != nil {
		out.Cut = &savedCut{
			Next: c.next, Again: c.again, Attempts: savedAttempts(c.attempts), Asking: k.questionsByElement(c.asking),
			Running: k.elements(c.running), Failed: k.elements(c.failed),
		}
	}
	return out
}

func (k *saver) elements(m map[int]*elementRun) []savedElement {
	var out []savedElement
	for _, i := range sortedElements(m) {
		out = append(out, savedElement{i, m[i].attempt, k.failure(m[i].cause), k.questions(m[i].asked), m[i].ends})
	}
	return out
}

func savedAttempts(m map[int]failedAttempt) [][3]int64 {
	var out [][3]int64
	for _, i := range sortedAttempts(m) {
		out = append(out, [3]int64{int64(i), int64(m[i].attempt), m[i].until})
	}
	return out
}

func (r *restorer) each(in *savedEach) *eachState {
	if in == nil {
		return nil
	}
	e := &eachState{
		items: r.unpackList(in.Items), results: r.unpackList(in.Results), next: in.Next, again: in.Again,
		running: r.elements(in.Running), attempts: restoredAttempts(in.Attempts), asking: r.questionsByElement(in.Asking), answered: r.questionsByElement(in.Answered), failed: in.Failed, failure: r.failure(in.Failure),
		lowest: r.failure(in.Lowest), lowestIndex: in.LowestIndex, tolerate: in.Tolerate,
	}
	for _, result := range e.results {
		if result != nil {
			e.size += sizeOf(result)
		}
	}
	r.talk(e, in.Talk)
	if c := in.Cut; c != nil {
		e.cut = &eachCut{
			next: c.Next, again: c.Again, attempts: restoredAttempts(c.Attempts), asking: r.questionsByElement(c.Asking),
			running: r.elements(c.Running), failed: r.elements(c.Failed),
		}
	}
	return e
}

func (r *restorer) elements(list []savedElement) map[int]*elementRun {
	out := map[int]*elementRun{}
	for _, run := range list {
		out[run.Element] = &elementRun{run.Attempt, r.failure(run.Cause), r.questions(run.Asked), run.Ends}
	}
	return out
}

func restoredAttempts(list [][3]int64) map[int]failedAttempt {
	out := map[int]failedAttempt{}
	for _, attempt := range list {
		out[int(attempt[0])] = failedAttempt{int(attempt[1]), attempt[2]}
	}
	return out
}
