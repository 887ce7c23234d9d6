// Paths on which something is not made, for messages.

package assignment

import "slices"

// Path finds a shortest way from the start to v on which a thing is not made;
// nil when there is none.
func (a *Analysis) Path(thing, v int) []int { return a.way(thing, v, false) }

// PathAround finds a shortest such way past a join that fails because of it, or past
// branches all of which fail.
func (a *Analysis) PathAround(thing, v int) []int { return a.way(thing, v, true) }

// way is path, or a shortest way past a join that fails because of it, or past branches
// all of which fail.
func (a *Analysis) way(thing, v int, around bool) []int {
	type stop struct {
		at   int
		past bool // it lies behind such a join
	}
	type leg struct {
		to   stop
		over int // the join that is passed, or -1
	}
	from := map[stop]leg{}
	start, goal := stop{at: a.k.Flow.Start()}, stop{v, around}
	from[goal] = leg{to: goal}
	for todo := []stop{goal}; len(todo) > 0; todo = todo[1:] {
		x := todo[0]
		if x == start {
			break
		}
		reach := func(y stop, over int) {
			if _, known := from[y]; !known {
				from[y] = leg{x, over}
				todo = append(todo, y)
			}
		}
		for _, e := range a.into[x.at] {
			passes := slices.ContainsFunc(a.around[x.at], func(b aroundJoin) bool { return b.node == e.from && b.with == e.with })
			if a.left(e, thing/64)&(1<<(thing%64)) != 0 && !passes {
				reach(stop{e.from, x.past}, -1)
			}
		}
		for _, b := range a.around[x.at] {
			if x.past && a.left(arc{from: b.node, with: b.with}, thing/64)&(1<<(thing%64)) != 0 {
				reach(stop{at: b.node}, b.join)
			}
		}
	}
	if _, found := from[start]; !found || start == goal {
		if start == goal {
			return []int{v}
		}
		return nil
	}
	var path []int
	for x := start; ; {
		if !a.k.IsArm(x.at) {
			path = append(path, x.at)
		}
		if x == goal {
			return path
		}
		if from[x].over >= 0 {
			path = append(path, from[x].over)
		}
		x = from[x].to
	}
}
