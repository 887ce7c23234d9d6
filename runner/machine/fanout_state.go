// The fan-out and the places in it, in memory and in snapshots.

package machine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// place says which branch a token is on: a lane of a fan-out. The zero place is
// the run itself.
type place struct {
	fan  *fanout
	lane int
}

// fanout is one time that several edges fired at once. Each edge started a
// branch; a token is the point where a branch stands.
type fanout struct {
	id     int // from 1, in order
	origin int // node
	at     place
	depth  int // of nesting, from 1
	policy string
	// live counts the tokens of all branches, those of nested fan-outs too.
	live int
	// ended says that a branch got through, to END or to where it met others; dead
	// that the fan-out has failed and its tokens count no more.
	ended bool
	dead  bool
	// failures are those of branches that the policy tolerated.
	failures []lostBranch
	// auto is the node of the implicit join, or noNode.
	auto int
	// first holds the node that each branch began with.
	first []int
	// names holds what the branches are called, once somebody has asked.
	names []string
	// thread is where the conversation stood.
	thread *thread
	// began is when the time of the branches began, again, by lane, when that of a
	// branch began once more; both are later by what did not count.
	began int64
	again map[int]int64
}

// lostBranch is a branch that failed. order is when, among all that finished, and
// told says that a join has heard of it.
type lostBranch struct {
	failure *Failure
	lane    int
	order   int
	told    bool
}

// noNode stands for the absence of a node.
const noNode = -2

// expiry is the end of a branch that ran out of time while a superstep was open.
type expiry struct {
	branch  place
	failure *Failure
	order   int // among all that finished
	settled bool
}

// add counts tokens on a branch and on every branch around it.
func (at place) add(n int) {
	for f := at.fan; f != nil; f = f.at.fan {
		f.live += n
	}
}

// dead reports whether the branch, or one around it, has failed.
func (at place) dead() bool {
	for f := at.fan; f != nil; f = f.at.fan {
		if f.dead {
			return true
		}
	}
	return false
}

// within reports whether the place is in the fan-out or nested in it.
func (at place) within(f *fanout) bool {
	for at.fan != nil {
		if at.fan == f {
			return true
		}
		at = at.fan.at
	}
	return false
}

// on reports whether the place is on the branch or nested in it.
func (at place) on(branch place) bool {
	for at.fan != nil {
		if at == branch {
			return true
		}
		at = at.fan.at
	}
	return false
}

// laneOf is the branch of a fan-out that a place within it is on.
func laneOf(at place, f *fanout) int {
	for at.fan != f {
		at = at.fan.at
	}
	return at.lane
}

// common is the innermost branch around both places; of two lanes of one
// fan-out it is the first.
func common(a, b place) place {
	for a.fan != b.fan {
		if b.fan == nil || a.fan != nil && a.fan.depth >= b.fan.depth {
			a = a.fan.at
		} else {
			b = b.fan.at
		}
	}
	if a.fan != nil && b.lane < a.lane {
		a.lane = b.lane
	}
	return a
}

// compare orders places by declaration: the branches of one fan-out by lane. Of
// two places on one branch the one that is less nested comes first, then that of
// the older fan-out, so that the order is the same whatever came first.
func (at place) compare(other place) int {
	a, b := at, other
	var inA, inB *fanout // the fan-outs on the branch that a and b are in
	for a.fan != b.fan {
		if b.fan == nil || a.fan != nil && a.fan.depth >= b.fan.depth {
			a, inA = a.fan.at, a.fan
		} else {
			b, inB = b.fan.at, b.fan
		}
	}
	return cmp.Or(a.lane-b.lane, inA.number()-inB.number())
}

// mergePlaces takes the token at b into the one at a, which then stands where both
// are: on the branch that they have in common.
func mergePlaces(a, b place) place {
	b.add(-1)
	to := common(a, b)
	for f := a.fan; f != to.fan; f = f.at.fan {
		f.live--
		f.ended = true
	}
	for f := b.fan; f != to.fan; f = f.at.fan {
		f.ended = true
	}
	return to
}

// end ends a branch at END.
func (at place) end() {
	for f := at.fan; f != nil; f = f.at.fan {
		f.ended = true
	}
	at.add(-1)
}

// savedPlace is place: the number of a fan-out and a lane; 0 is the run itself.
type savedPlace struct {
	Fan  int `json:"fan"`
	Lane int `json:"lane"`
}

type savedFanout struct {
	ID       int         `json:"id"`
	Origin   int         `json:"origin"`
	At       savedPlace  `json:"at,omitzero"`
	Depth    int         `json:"depth"`
	Policy   string      `json:"policy"`
	Live     int         `json:"live"`
	Ended    bool        `json:"ended,omitempty"`
	Dead     bool        `json:"dead,omitempty"`
	Failures []savedLost `json:"failures,omitempty"`
	Auto     int         `json:"auto"`
	First    []int       `json:"first"`
	Began    int64       `json:"began,omitempty"`
	// Again holds pairs of lane and time.
	Again  [][2]int64 `json:"again,omitempty"`
	Thread int        `json:"thread,omitempty"`
}

// savedLost is a branch that failed.
type savedLost struct {
	Failure int  `json:"failure"`
	Lane    int  `json:"lane,omitempty"`
	Order   int  `json:"order,omitempty"`
	Told    bool `json:"told,omitempty"`
}

type savedExpiry struct {
	Branch  savedPlace `json:"branch"`
	Failure *int       `json:"failure,omitempty"`
	Order   int        `json:"order,omitempty"`
	Settled bool       `json:"settled,omitempty"`
}

// fan is the number of a fan-out, which is written with those around it.
func (k *saver) fan(f *fanout) int {
	if f == nil {
		return 0
	}
	if !k.fans[f] {
		k.fans[f] = true
		k.fanList = append(k.fanList, f)
		k.fan(f.at.fan)
	}
	return f.id
}

func (k *saver) place(at place) savedPlace { return savedPlace{k.fan(at.fan), at.lane} }

func (k *saver) saveFan(f *fanout) savedFanout {
	out := savedFanout{
		ID: f.id, Origin: f.origin, At: k.place(f.at), Depth: f.depth, Policy: f.policy, Live: f.live,
		Ended: f.ended, Dead: f.dead, Auto: f.auto, First: f.first, Began: f.began,
		Thread: k.thread(f.thread),
	}
	for _, failure := range f.failures {
		out.Failures = append(out.Failures, savedLost{*k.failure(failure.failure), failure.lane, failure.order, failure.told})
	}
	for _, lane := range slices.Sorted(maps.Keys(f.again)) {
		out.Again = append(out.Again, [2]int64{int64(lane), f.again[lane]})
	}
	return out
}

func (k *saver) expiry(e *expiry) *int {
	if e == nil {
		return nil
	}
	at, ok := k.expiries[e]
	if !ok {
		at = len(k.expired)
		k.expiries[e] = at
		k.expired = append(k.expired, savedExpiry{k.place(e.branch), k.failure(e.failure), e.order, e.settled})
	}
	return &at
}

// restoreFans reads fan-outs, those around others first.
func (r *restorer) restoreFans(list []savedFanout) {
	r.fans = make(map[int]*fanout, len(list))
	for i := range list {
		in := &list[i]
		f := &fanout{
			id: in.ID, origin: in.Origin, at: r.place(in.At), depth: in.Depth, policy: in.Policy, live: in.Live,
			ended: in.Ended, dead: in.Dead, auto: in.Auto, first: in.First, began: in.Began,
			thread: r.thread(in.Thread),
		}
		for _, failure := range in.Failures {
			f.failures = append(f.failures, lostBranch{r.failure(&failure.Failure), failure.Lane, failure.Order, failure.Told})
		}
		for _, again := range in.Again {
			if f.again == nil {
				f.again = map[int]int64{}
			}
			f.again[int(again[0])] = again[1]
		}
		r.fans[f.id] = f
	}
}

func (r *restorer) fan(id int) *fanout {
	if id != 0 && r.fans[id] == nil {
		r.fail(fmt.Errorf("fan-out %d is missing", id))
	}
	return r.fans[id]
}

func (r *restorer) place(at savedPlace) place { return place{r.fan(at.Fan), at.Lane} }
