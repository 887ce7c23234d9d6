// A file of random flows, to test other engines with.

package referencetest_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/graphrun/graphrun/internal/referencetest"
	"github.com/graphrun/graphrun/spec"
)

// program runs the tasks of a flow. A number computed from the node's name, its visit and its attempt
// decides how the task ends and what it prints.
const program = `name=${GRAPHRUN_TASK_NODE##*/}
h=$(( (%[1]d + ${name#?} * 31 + GRAPHRUN_TASK_VISIT * 17) %% 101 ))
f=$(( (h + GRAPHRUN_TASK_ATTEMPT * 43) %% 101 ))
if [ $f -lt %[2]d ]; then exit 3; fi
case $name in g*)
  case $((h %% 3)) in 0) t='"x"';; 1) t='"y"';; *) t='["y", "z"]';; esac
  echo "{\"goto\": $t}"; exit;;
esac
case $((h %% 4)) in 0) echo $((h %% 5));; 1) echo '"yes"';; 2) echo "\"$name\"";; *) echo null;; esac`

// programWorld is a world with the same outcomes as program. timing decides how long attempts take.
type programWorld struct{ seed, failing, timing int }

func (p programWorld) Attempt(s referencetest.StepID, n int) (out referencetest.Outcome, takes time.Duration) {
	r := rand.New(rand.NewPCG(uint64(p.timing), uint64(s.Rank*1000+s.Visit*10+n)))
	takes = time.Duration(1 + r.Int64N(5e9))
	var number int
	fmt.Sscan(s.Node[1:], &number)
	h := (p.seed + number*31 + s.Visit*17) % 101
	switch {
	case (h+n*43)%101 < p.failing:
		out.Error = &referencetest.Error{Kind: "exit_status"}
	case s.Node[0] == 'g':
		out.Output = map[string]any{"goto": []any{"x", "y", []any{"y", "z"}}[h%3]}
	default:
		out.Output = []any{h % 5, "yes", s.Node, nil}[h%4]
	}
	return out, takes
}

func (programWorld) Answer(referencetest.StepID, string) (any, time.Duration, bool) {
	return nil, 0, false
}

func (programWorld) Choose(_ referencetest.StepID, candidates []string) (string, bool) {
	return candidates[0], true
}

// corpusWeights returns weights for graphs without people, waits and features that depend on timing.
func corpusWeights() referencetest.Weights {
	w := referencetest.MixedWeights()
	w.Human, w.Wait, w.Asking, w.Timeouts, w.Quorum, w.QuorumBypass, w.Breakpoints = 0, 0, 0, 0, 0, 0, 0
	return w
}

var interval = regexp.MustCompile(`initial_interval: \w+`)

// TestCorpus writes random flows, one JSON object a line, to GRAPHRUN_REFERENCE_CORPUS. It keeps only
// flows whose outcome does not depend on timing, so that every engine has the same result.
func TestCorpus(t *testing.T) {
	name := os.Getenv("GRAPHRUN_REFERENCE_CORPUS")
	if name == "" {
		name = filepath.Join(t.TempDir(), "corpus")
	}
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	written, status := 0, map[string]int{}
	for seed := uint64(0); written < countGraphs(t, 50); seed++ {
		text, world := referencetest.RandomGraph(seed, corpusWeights())
		text = interval.ReplaceAllString(text, "initial_interval: 1ms")
		want, ok := runUntimed(text, programWorld{seed: int(seed % 1000), failing: world.Failing})
		if !ok || len(want.Path) < 2 {
			continue
		}
		written++
		status[want.Status]++
		script, _ := json.Marshal(fmt.Sprintf(program, seed%1000, world.Failing))
		line, err := json.Marshal(map[string]any{
			"seed": seed, "status": want.Status, "path": want.Path,
			"flow": strings.ReplaceAll(text, "kind: exec, command: [x]", "kind: exec, script: "+string(script)),
		})
		if err == nil {
			_, err = file.Write(append(line, '\n'))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d flows: %v", written, status)
	for _, one := range []string{"completed", "failed", "limit"} {
		if status[one] == 0 && written >= 200 {
			t.Errorf("none of them is %s: %v", one, status)
		}
	}
}

// runUntimed returns the result of a flow, and false if timing decides it.
func runUntimed(text string, world programWorld) (out referencetest.Result, ok bool) {
	g, found := spec.Parse("flow.yaml", []byte(text), spec.Options{})
	if found.HasErrors() || spec.Check(g).HasErrors() {
		return out, false
	}
	flow, err := referencetest.Parse(text)
	if err != nil {
		return out, false
	}
	for world.timing = range 5 {
		_, got := referencetest.Start(flow, nil, world, referencetest.Options{})
		if got.Timed || world.timing > 0 && fmt.Sprint(got.Status, got.Path) != fmt.Sprint(out.Status, out.Path) {
			return out, false
		}
		out = got
	}
	return out, true
}
