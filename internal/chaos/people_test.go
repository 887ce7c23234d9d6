//go:build linux

// People who answer from other processes, two for each question.

package chaos

import (
	"math/rand/v2"
	"strings"
	"sync"
	"time"
)

// person tries to answer a question until the question is answered.
type person struct {
	node, key, text string
	taken           bool
	lastOutput      string // the last output of its command
}

// answerAll starts people who try to answer all questions, until the questions are answered or stop is
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
		p := x.callGraphrun("answer", runID, who.node+"="+who.text, "--by", who.text)
		who.lastOutput = p.stderr.String()
		switch {
		case p.exitCode() == 0:
			who.taken = true
			return
		case p.exitCode() == 2 && strings.Contains(who.lastOutput, "was answered"):
			return // the message says who was faster
		case p.exitCode() == 2, p.exitCode() == 1 && strings.Contains(who.lastOutput, "did not take the answer"): // later
		case p.exitCode() == 1 && strings.Contains(who.lastOutput, "store"): // full, or locked
		default:
			x.Errorf("who answers hears: %s", p)
			return
		}
	}
}

// checkAnswers checks that every answer was either used or refused with a message.
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
		// An answer whose command reported an error may still have been taken.
		if got != who.node+" by a" && got != who.node+" by b" || x.undamaged {
			x.Errorf("%s is %v, which nobody was told is taken; %q heard %s", who.key, got, who.text, who.lastOutput)
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
