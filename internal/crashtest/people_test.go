package crashtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/store/sqlite"
)

// offerEnv makes the test binary give one answer, such as "a=yes", without driving the run.
const offerEnv = "CRASH_OFFER"

// questionsFlow returns a flow that asks three questions in concurrent branches while a fourth
// branch works. The first question has a short timeout.
func questionsFlow() flow {
	return flow{name: "three", text: head + `
start: s
state: {a: {type: string}, b: {type: string}, c: {type: string}}
nodes:
  s: {kind: pass}
  a: {kind: human, prompt: "a?", writes: [a], timeout: 600ms, default: late}
  b: {kind: human, prompt: "b?", writes: [b]}
  c: {kind: human, prompt: "c?", writes: [c]}
  w: {kind: effect, takes: 150}
  ea: {kind: effect}
  eb: {kind: effect}
  ec: {kind: effect}
  j: {kind: pass, join: {wait: all}}
edges:
  - {from: s, to: [a, b, c, w]}
  - {from: a, to: ea}
  - {from: b, to: eb}
  - {from: c, to: ec}
  - {from: [ea, eb, ec, w], to: j}
  - {from: j, to: END}
`}
}

// answerOnce gives one answer and prints whether it was taken or refused.
func answerOnce(dir, pair string) error {
	kept, err := sqlite.Open(filepath.Join(dir, "runs.db"), sqlite.Options{})
	if err != nil {
		return err
	}
	r, err := runner.New(runner.Config{Store: kept, Kinds: []runner.Kind{effectKind(dir)}})
	if err != nil {
		return err
	}
	target, text, _ := strings.Cut(pair, "=")
	_, err = r.Answer(context.Background(), "one", []store.GivenAnswer{{Target: target, Text: text}}, "person "+text)
	var refused *runner.InputError
	switch {
	case err == nil:
		fmt.Println("taken")
	case errors.As(err, &refused):
		fmt.Println("refused", refused)
	case errors.Is(err, store.ErrNoRun):
		fmt.Println("refused: there is no run yet")
	default:
		return err
	}
	return kept.Close()
}

// person answers a question from other processes until the question is answered.
type person struct {
	target, text string
	// taken reports that the answer was taken; lost, that the process was killed, perhaps after
	// it gave the answer.
	taken, lost bool
	err         string
}

// answer starts a process that answers once, and kills it after the duration kill unless that is
// 0. It reports whether the person is done.
func (p *person) answer(t *testing.T, dir string, kill time.Duration) bool {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), dirEnv+"="+dir, offerEnv+"="+p.target+"="+p.text, "GORACE=atexit_sleep_ms=0")
	out, err := cmd.StdoutPipe()
	if err != nil || cmd.Start() != nil {
		t.Error("the person can't be started", err)
		return true
	}
	if kill > 0 {
		timer := time.AfterFunc(kill, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
	}
	said := ""
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said += lines.Text()
	}
	_ = cmd.Wait()
	switch {
	case said == "taken":
		p.taken = true
		return true
	case strings.Contains(said, "was answered"), strings.Contains(said, "timed out"):
		return true // the message says which answer was first, or that the question timed out
	case strings.HasPrefix(said, "refused"):
		return false // the question has not been asked yet
	case said == "" && kill > 0:
		p.lost = true
		return false
	}
	p.err = said
	return true
}

// listOrders returns the orders in which three questions can be answered.
func listOrders() [][]string {
	return [][]string{{"a", "b", "c"}, {"a", "c", "b"}, {"b", "a", "c"}, {"b", "c", "a"}, {"c", "a", "b"}, {"c", "b", "a"}}
}

// Two people answer each of three questions from other processes, in every order, with the driver
// alive or dead, while random processes are killed. One answer to each question is taken and used,
// the other is refused with a message, and no question is asked twice.
func TestAnswersFromOtherProcesses(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	for trial := range max(6, killCount(t)/3) {
		order := listOrders()[trial%6]
		t.Run(fmt.Sprint(trial, order), func(t *testing.T) { runPeopleTrial(t, order, trial/6%2 == 1, random) })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func runPeopleTrial(t *testing.T, order []string, dead bool, random *rand.Rand) {
	dir, f := newDir(t), questionsFlow()
	var drives sync.WaitGroup
	through := make(chan bool)
	delays := make([]time.Duration, 30)
	for i := range delays {
		delays[i] = time.Duration(20+random.Int64N(500)) * time.Millisecond
	}
	died := 0
	drive := func(kill time.Duration) (done bool) {
		p := startDriver(t, dir, f.name, "")
		if kill > 0 {
			timer := time.AfterFunc(kill, func() { _ = p.cmd.Process.Kill() })
			defer timer.Stop()
		}
		p.awaitExit()
		if p.err != "" && !strings.Contains(p.err, "is driven by") {
			t.Error(p.err)
		}
		if p.result == "" {
			died++
		}
		return strings.Contains(p.result, `"status":"completed"`)
	}
	if dead { // the driver has exited before anybody answers
		drive(delays[0])
		drive(0)
	}
	drives.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-through:
				return
			default:
			}
			if drive([]time.Duration{delays[i%len(delays)], 0}[i%2]) {
				return
			}
		}
	})
	people := answerAll(t, dir, order, delays)
	close(through)
	drives.Wait()
	for range 100 {
		if drive(0) {
			break
		}
		time.Sleep(20 * time.Millisecond) // the question of a has not timed out yet
	}
	checkStore(t, dir, 0)
	checkPeople(t, dir, people, died)
}

// answerAll lets two people answer each question, in the given order, and kills some of their
// processes.
func answerAll(t *testing.T, dir string, order []string, delays []time.Duration) []*person {
	var all []*person
	var wait sync.WaitGroup
	for i, target := range order {
		first := make(chan bool)
		for n := range 2 {
			p := &person{target: target, text: fmt.Sprintf("%s%d", target, n)}
			all = append(all, p)
			kill := time.Duration(0)
			if (i+n)%2 == 1 {
				kill = delays[10+2*i+n] / 8
			}
			wait.Go(func() {
				for tries := 0; !p.answer(t, dir, kill) && tries < 400; tries++ {
					kill = 0
				}
				if n == 0 {
					close(first)
				}
			})
		}
		<-first
	}
	wait.Wait()
	return all
}

// checkPeople checks that the run used the answers that were taken, and no others.
func checkPeople(t *testing.T, dir string, people []*person, died int) {
	t.Helper()
	s, err := sqlite.Open(filepath.Join(dir, "runs.db"), sqlite.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, err := runner.New(runner.Config{Store: s, Kinds: []runner.Kind{effectKind(dir)}})
	if err != nil {
		t.Fatal(err)
	}
	asked := &questions{}
	result, err := r.Replay("one", 0, -1, runner.Options{Sink: asked})
	if err != nil {
		t.Fatal(err)
	}
	if result.Status != machine.Completed || result.Quality != machine.Clean || len(result.Pending) > 0 {
		t.Errorf("the run is %s (%s), and asks %v", result.Status, result.Quality, result.Pending)
	}
	taken, perhaps := map[string]string{}, map[string]bool{}
	for _, p := range people {
		if p.err != "" {
			t.Errorf("who says %s hears: %s", p.text, p.err)
		}
		if p.taken && taken[p.target] != "" {
			t.Errorf("both %s and %s were taken", taken[p.target], p.text)
		}
		if p.taken {
			taken[p.target] = p.text
		}
		perhaps[p.text] = perhaps[p.text] || p.lost
	}
	for _, target := range []string{"a", "b", "c"} {
		got, _ := result.State[target].(string)
		switch {
		case got == taken[target] && got != "":
		case taken[target] != "":
			t.Errorf("%s is %q, and %q was taken", target, got, taken[target])
		case perhaps[got], target == "a" && got == "late":
		default:
			t.Errorf("%s is %q, which nobody said", target, got)
		}
	}
	if got := strings.Join(asked.targets, " "); len(asked.targets) != 3 {
		t.Errorf("asked: %s", got)
	}
	count := map[string]int{}
	for _, line := range readEffects(t, dir) {
		count[strings.Fields(line)[1]]++
	}
	for _, node := range []string{"ea", "eb", "ec", "w"} {
		if n := count[node]; n < 1 || n > 1+died {
			t.Errorf("%s was executed %d times, with %d drivers killed", node, n, died)
		}
	}
}

// questions is a sink that keeps the targets of the questions.
type questions struct{ targets []string }

func (q *questions) Event(e *runner.Event) error {
	if e.Said != nil && e.Said.Type == "question" {
		q.targets = append(q.targets, e.Said.Question.Target())
	}
	return nil
}
