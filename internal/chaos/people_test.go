//go:build linux

// People who answer from elsewhere, two each question.

package chaos

import (
	"math/rand/v2"
	"strings"
	"sync"
	"time"
)

// person answers a question until it is answered.
type person struct {
	node, key, text string
	taken           bool
	said            string // the last that was heard
}

// answerAll lets people answer all questions until they are answered or stop is
// closed.
func (x *trial) answerAll(seed uint64, stop <-chan struct{}) *sync.WaitGroup {
	wait := &sync.WaitGroup{}
	for i, pair := range x.flow.people {
		node, key, _ := strings.Cut(pair, "=")
		for n := range 2 {
			who := &person{node: node, key: key, text: node + " by " + string(rune('a'+n))}
			x.people = append(x.people, who)
			random := rand.New(rand.NewPCG(seed, uint64(2*i+n)))
			wait.Go(func() { x.answer(who, random, stop) })
		}
	}
	return wait
}

func (x *trial) answer(who *person, random *rand.Rand, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(100+random.IntN(500)) * time.Millisecond):
		}
		p := x.call("answer", runID, who.node+"="+who.text, "--by", who.text)
		who.said = p.stderr.String()
		switch {
		case p.code() == 0:
			who.taken = true
			return
		case p.code() == 2 && strings.Contains(who.said, "was answered"):
			return // it says who was faster
		case p.code() == 2, p.code() == 1 && strings.Contains(who.said, "did not take the answer"): // later
		case p.code() == 1 && strings.Contains(who.said, "store"): // full, or locked
		default:
			x.Errorf("who answers hears: %s", p)
			return
		}
	}
}

// checkAnswers makes sure that every answer was used or refused aloud.
func (x *trial) checkAnswers(state map[string]any) {
	taken := map[string]string{}
	all := x.taken
	for _, who := range x.people {
		if who.taken {
			all = append(all, *who)
		}
	}
	for _, who := range all {
		if before, twice := taken[who.key]; twice {
			x.Errorf("both %q and %q were taken", before, who.text)
		}
		taken[who.key] = who.text
		if got := state[who.key]; got != who.text {
			x.Errorf("%s is %v, and %q was taken", who.key, got, who.text)
		}
	}
	for _, who := range x.people {
		got := state[who.key]
		if taken[who.key] != "" || contains(x.perhaps, got) {
			continue
		}
		// An answer whose giver was told of an error may have been taken.
		if got != who.node+" by a" && got != who.node+" by b" || x.gently {
			x.Errorf("%s is %v, which nobody was told is taken; %q heard %s", who.key, got, who.text, who.said)
		}
	}
}

func contains(list []string, value any) bool {
	for _, item := range list {
		if item == value {
			return true
		}
	}
	return false
}
