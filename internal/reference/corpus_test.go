// Random flows for engines that drive runs apart from the machine, as a file.

package reference_test

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/graphrun/graphrun/internal/reference"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// program does what the handlers of a flow do: what the node's number, its visit and
// its attempt come to decides how it ends and what it says. failing is per cent.
const program = `n=${GRAPHRUN_TASK_NODE#?}
h=$(( (%[1]d + n * 31 + GRAPHRUN_TASK_VISIT * 17) %% 101 ))
f=$(( (h + GRAPHRUN_TASK_ATTEMPT * 43) %% 101 ))
if [ $f -lt %[2]d ]; then exit 3; fi
case $GRAPHRUN_TASK_NODE in g*)
  case $((h %% 3)) in 0) t='"x"';; 1) t='"y"';; *) t='["y", "z"]';; esac
  echo "{\"goto\": $t}"; exit;;
esac
case $((h %% 4)) in 0) echo $((h %% 5));; 1) echo '"yes"';; 2) echo "\"$GRAPHRUN_TASK_NODE\"";; *) echo null;; esac`

// programmed is the same in the machine's world, where it takes a time that round and
// the attempt decide.
func programmed(f *flow, round int) reference.Script {
	return func(a reference.Attempt) reference.Outcome {
		hash := fnv.New64a()
		fmt.Fprint(hash, a)
		r := rand.New(rand.NewPCG(uint64(round), hash.Sum64()))
		o := reference.Outcome{Takes: time.Duration(r.Int64N(1 + 5e9>>r.IntN(30)))}
		var n int
		fmt.Sscan(a.Node[1:], &n)
		h := (int(f.seed%1000) + n*31 + a.Visit*17) % 101
		if (h+a.Attempt*43)%101 < f.failing {
			o.Fails = "failed"
			return o
		}
		if strings.HasPrefix(a.Node, "g") {
			o.Output = map[string]any{"goto": []any{"x", "y", []any{"y", "z"}}[h%3]}
			return o
		}
		o.Output = []any{h % 5, "yes", a.Node, nil}[h%4]
		return o
	}
}

var (
	timeLimits = regexp.MustCompile(`(, )?\b(branch_timeout|step_timeout|node_timeout|timeout): \d+[um]s`)
	emptyParts = regexp.MustCompile(`, parallel: \{\}|(?m)^parallel: \{\}$`)
	intervals  = regexp.MustCompile(`initial_interval: \d+ms`)
	firstLimit = regexp.MustCompile(`\{, `)
)

// timeless is the text of a flow in which no time is limited, and neither people nor
// time are waited for, but between attempts.
func timeless(f *flow) string {
	for i := range f.nodes {
		n := &f.nodes[i]
		if strings.HasPrefix(n.id, "h") || strings.HasPrefix(n.id, "w") {
			n.head, n.attrs = "kind: pass", leaveOut(n.attrs, "timeout", "default")
		}
	}
	f.asking = 0
	text := timeLimits.ReplaceAllString(f.text(), "")
	text = firstLimit.ReplaceAllString(text, "{")
	text = emptyParts.ReplaceAllString(text, "")
	return intervals.ReplaceAllString(text, "initial_interval: 1ms")
}

// orders is how many orders in which tasks may end are tried.
const orders = 30

// paces are what supersteps may take: nothing, or up to twice what a retry waits, which
// may then be over between any two of them.
func paces(round int) func() time.Duration {
	r := rand.New(rand.NewPCG(uint64(round), 0))
	return func() time.Duration {
		if round%2 == 0 {
			return 0
		}
		return time.Duration(r.Int64N(int64(2 * time.Millisecond)))
	}
}

// steadfast says what a flow comes to if that does not depend on which of its tasks
// end first.
func steadfast(f *flow, text string) (out reference.Result, ok bool) {
	g, found := spec.Parse("flow.yaml", []byte(text), spec.Options{})
	if found.HasErrors() {
		return out, false
	}
	if spec.Check(g).HasErrors() {
		return out, false // it would not be run
	}
	plan, _ := machine.Build(g, nil)
	if plan == nil {
		return out, false
	}
	for round := range orders {
		got, err := walkAt(paces(round), plan, programmed(f, round))
		if err != nil {
			return out, false
		}
		got.Took = 0
		if round > 0 && fmt.Sprint(got) != fmt.Sprint(out) {
			return out, false
		}
		out = got
	}
	return out, true
}

// TestCorpus writes random flows, one JSON object a line, to GRAPHRUN_REFERENCE_CORPUS:
// those whose outcome does not depend on the order in which tasks end, so that every
// engine has to come to the same.
func TestCorpus(t *testing.T) {
	count := number(t, "GRAPHRUN_REFERENCE_GRAPHS", 50)
	name := os.Getenv("GRAPHRUN_REFERENCE_CORPUS")
	if name == "" {
		name = filepath.Join(t.TempDir(), "corpus")
	}
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	written, tried := 0, 0
	status := map[string]int{}
	for seed := uint64(number(t, "GRAPHRUN_REFERENCE_FROM", 0)); written < count; seed++ {
		if tried++; tried > 50*count {
			t.Fatalf("%d of %d flows come to the same in whatever order", written, tried)
		}
		f := random(seed)
		text := timeless(f)
		want, ok := steadfast(f, text)
		if !ok || len(want.Path) < 2 {
			continue
		}
		written++
		status[want.Status]++
		script, _ := json.Marshal(fmt.Sprintf(program, f.seed%1000, f.failing))
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
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d of %d flows: %v", written, tried, status)
	for _, one := range []string{"completed", "failed", "limit", "stuck"} {
		if status[one] == 0 {
			t.Errorf("none of them is %s: %v", one, status)
		}
	}
}
