package engine

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	enums "go.temporal.io/api/enums/v1"
	historyapi "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
)

var update = flag.Bool("update", false, "record the histories anew, with GRAPHRUN_TEST_SERVER as the address of a server")

// recorded returns the flows of the recorded histories, by name.
func recorded() map[string]string {
	return map[string]string{
		"loop": `graphrun: v1
name: loop
start: count
limits: {node_timeout: 1m}
state: {n: {type: integer, default: 0}}
nodes:
  count: {kind: exec, script: 'echo $(($N + 1))', env: {N: "{{ n }}"}, writes: [n]}
  rest: {kind: wait, for: 20ms}
edges:
  - {from: count, to: rest, when: "n < 3"}
  - {from: count, to: END, when: "n >= 3"}
  - {from: rest, to: count}
`,
		"branches": `graphrun: v1
name: branches
start: begin
limits: {node_timeout: 1m}
state: {all: {type: array, reducer: append}}
nodes:
  begin: {kind: pass}
  a: {kind: exec, script: 'test $GRAPHRUN_TASK_ATTEMPT = 2 && echo 1', retry: {max_attempts: 2, initial_interval: 10ms}, writes: [all]}
  b: {kind: exec, each: "[2, 3, 4]", script: 'echo $I', env: {I: "{{ item }}"}, writes: {all: "output"}}
  c: {kind: exec, script: 'exit 3'}
  met: {kind: pass, join: {wait: all, on_bypass: continue}}
edges:
  - {from: begin, to: [a, b, c]}
  - {from: [a, b, c], to: met}
  - {from: c, to: met, condition: on_failure}
  - {from: met, to: END}
`,
		"list": `graphrun: v1
name: list
start: list
limits: {node_timeout: 1m, max_concurrency: 3}
state: {all: {type: array, reducer: append}}
nodes:
  list: {kind: exec, each: "0..5", script: 'test $I != 2 -o $GRAPHRUN_TASK_ATTEMPT = 2 && echo $I', env: {I: "{{ item }}"}, retry: {max_attempts: 2, initial_interval: 10ms}, writes: {all: "output"}}
edges:
  - {from: list, to: END}
`,
	}
}

// recordedStart returns the input of the workflow of a recorded history.
func recordedStart(name string) *Start {
	return &Start{
		Core:   coreVersion,
		Record: store.RunRecord{ID: "recorded-" + name, Graph: name, File: "/flows/" + name + ".yaml", Source: []byte(recorded()[name]), Started: time.Unix(1e9, 0).UTC()},
		Queue:  "graphrun", RunDir: "/runs/" + name, Nonce: "00", Settings: runner.Options{Dir: "/"},
	}
}

func historyFile(name string) string { return filepath.Join("testdata", name+".json") }

// TestReplay replays recorded histories: today's decisions must equal the recorded ones, or
// active runs break. If they differ on purpose, raise coreVersion and record the histories again.
func TestReplay(t *testing.T) {
	for name := range recorded() {
		t.Run(name, func(t *testing.T) {
			if *update {
				record(t, name)
			}
			if err := replay(t, name, nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestReplayNotices: a core that decides differently fails.
func TestReplayNotices(t *testing.T) {
	for name, change := range map[string][2]string{
		"loop":     {"n < 3", "n < 2"},
		"branches": {"max_attempts: 2", "max_attempts: 1"},
		"list":     {"max_concurrency: 3", "max_concurrency: 2"},
	} {
		t.Run(name, func(t *testing.T) {
			err := replay(t, name, func(s *Start) {
				s.Record.Source = []byte(strings.Replace(string(s.Record.Source), change[0], change[1], 1))
			})
			if err == nil {
				t.Error("other decisions pass the replay")
			}
		})
	}
}

// replay replays a recorded history, whose input change may modify.
func replay(t *testing.T, name string, change func(*Start)) error {
	t.Helper()
	text, err := os.ReadFile(historyFile(name))
	if err != nil {
		t.Fatal(err)
	}
	history := &historyapi.History{}
	if err := protojson.Unmarshal(text, history); err != nil {
		t.Fatal(err)
	}
	conv := converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), &codec{blobs: folder(t.TempDir())})
	if change != nil {
		attributes := history.Events[0].GetWorkflowExecutionStartedEventAttributes()
		var start Start
		if err := conv.FromPayload(attributes.Input.Payloads[0], &start); err != nil {
			t.Fatal(err)
		}
		change(&start)
		if attributes.Input.Payloads[0], err = conv.ToPayload(&start); err != nil {
			t.Fatal(err)
		}
	}
	return replayHistory(&Cluster{converter: conv}, history, maxEvents)
}

// record runs a flow on a real server and keeps its history.
func record(t *testing.T, name string) {
	t.Helper()
	c, err := Options{Address: os.Getenv("GRAPHRUN_TEST_SERVER"), Payloads: t.TempDir()}.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	start := recordedStart(name)
	start.Queue = "record-" + name
	start.Record.ID += time.Now().Format("-150405")
	stop, err := c.StartWorker(WorkerOptions{Queue: start.Queue})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	ctx := context.Background()
	if err := c.Store(ctx).(*Store).startWorkflow(start, enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE); err != nil {
		t.Fatal(err)
	}
	var out Outcome
	if err := c.client.GetWorkflow(ctx, start.Record.ID, "").Get(ctx, &out); err != nil {
		t.Fatal(err)
	}
	histories, err := c.histories(ctx, start.Record.ID)
	if err != nil {
		t.Fatal(err)
	}
	keepHistory(t, name, histories[0])
}

// keepHistory writes a history into its file.
func keepHistory(t *testing.T, name string, history *historyapi.History) {
	t.Helper()
	text, err := protojson.Marshal(history)
	if err != nil {
		t.Fatal(err)
	}
	var indented json.RawMessage = text // protojson puts in spaces by chance
	out, err := json.MarshalIndent(indented, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(historyFile(name), append(out, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
}
