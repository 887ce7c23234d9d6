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

// offerEnv is what a process answers that drives nothing: "a=yes".
const offerEnv = "CRASH_OFFER"

// three asks three people in branches at once, one of them for a short time, while
// a fourth branch works.
func three() flow {
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

// answerOnce is a process that gives one answer and says what became of it.
func answerOnce(dir, pair string) error {
	kept, err := sqlite.Open(filepath.Join(dir, "runs.db"), sqlite.Options{})
	if err != nil {
		return err
	}
	r, err := runner.New(runner.Config{Store: kept, Kinds: []runner.Kind{effect(dir)}})
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

// person is who answers a question from elsewhere, until it is answered.
type person struct {
	target, text string
	// taken says that the answer was; lost, that a process was killed which had
	// perhaps given it.
	taken, lost bool
	err         string
}

// try answers once; kill says after which time the process is killed, 0: never. It
// reports whether the person is through.
func (p *person) try(t *testing.T, dir string, kill time.Duration) bool {
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
		return true // somebody else, or the time limit, was first: it says who
	case strings.HasPrefix(said, "refused"):
		return false // it is not asked yet
	case said == "" && kill > 0:
		p.lost = true
		return false
	}
	p.err = said
	return true
}

// permutations are the orders in which three questions can be answered.
func permutations() [][]string {
	return [][]string{{"a", "b", "c"}, {"a", "c", "b"}, {"b", "a", "c"}, {"b", "c", "a"}, {"c", "a", "b"}, {"c", "b", "a"}}
}

// Three questions are answered from other processes, each by two people, in every
// order, with the driver alive and dead, killed at random as they are: one answer to
// each is taken and used, the others are refused aloud, and nothing is asked twice.
func TestPeopleElsewhere(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	for trial := range max(6, kills(t)/3) {
		order := permutations()[trial%6]
		t.Run(fmt.Sprint(trial, order), func(t *testing.T) { peopleTrial(t, order, trial/6%2 == 1, random) })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func peopleTrial(t *testing.T, order []string, dead bool, random *rand.Rand) {
	dir, f := newDir(t), three()
	var drives sync.WaitGroup
	through := make(chan bool)
	delays := make([]time.Duration, 30)
	for i := range delays {
		delays[i] = time.Duration(20+random.Int64N(500)) * time.Millisecond
	}
	died := 0
	drive := func(kill time.Duration) (done bool) {
		p := start(t, dir, f.name, "")
		if kill > 0 {
			timer := time.AfterFunc(kill, func() { _ = p.cmd.Process.Kill() })
			defer timer.Stop()
		}
		p.finish()
		if p.err != "" && !strings.Contains(p.err, "is driven by") {
			t.Error(p.err)
		}
		if p.result == "" {
			died++
		}
		return strings.Contains(p.result, `"status":"completed"`)
	}
	if dead { // the driver is gone before anybody answers
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
		time.Sleep(20 * time.Millisecond) // the time of a is not over yet
	}
	left(t, dir, 0)
	checkPeople(t, dir, people, died)
}

// answerAll lets two people answer each question, in an order; some of their
// processes are killed.
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
				for tries := 0; !p.try(t, dir, kill) && tries < 400; tries++ {
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

// checkPeople looks at what became of the answers.
func checkPeople(t *testing.T, dir string, people []*person, died int) {
	t.Helper()
	s, err := sqlite.Open(filepath.Join(dir, "runs.db"), sqlite.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, err := runner.New(runner.Config{Store: s, Kinds: []runner.Kind{effect(dir)}})
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
	for _, line := range effects(t, dir) {
		count[strings.Fields(line)[1]]++
	}
	for _, node := range []string{"ea", "eb", "ec", "w"} {
		if n := count[node]; n < 1 || n > 1+died {
			t.Errorf("%s was executed %d times, with %d drivers killed", node, n, died)
		}
	}
}

// questions are those that events tell.
type questions struct{ targets []string }

// Event keeps a question.
func (q *questions) Event(e *runner.Event) error {
	if e.Said != nil && e.Said.Type == "question" {
		q.targets = append(q.targets, e.Said.Question.Target())
	}
	return nil
}
