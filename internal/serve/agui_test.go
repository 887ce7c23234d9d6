package serve

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	saysFlow = `graphrun: v1
name: says
start: one
state: {text: {type: string, required: true}, said: {type: string}}
nodes: {one: {kind: set, set: {said: "'you said ' + text"}}}
edges: [{from: one, to: END}]
output: said
`
	failsFlow = `graphrun: v1
name: fails
start: no
nodes: {no: {kind: fail, message: "it can't be"}}
`
)

// newAGUI serves the flows of the AG-UI tests.
func newAGUI(t *testing.T) *tested {
	t.Helper()
	s := newTested(t, nil)
	for name, text := range map[string]string{"says.yaml": saysFlow, "fails.yaml": failsFlow} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// frontend sends an input and returns the types of the events, and the last event.
func (s *tested) frontend(flow, body string) (types []string, last map[string]any) {
	s.t.Helper()
	answer, text := s.do(s.request("POST", "/agui/"+flow, body))
	if answer.StatusCode != 200 {
		s.t.Fatalf("%s: %s\n%s", flow, answer.Status, text)
	}
	lines := bufio.NewScanner(strings.NewReader(string(text)))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		last = map[string]any{}
		if err := json.Unmarshal([]byte(data), &last); err != nil {
			s.t.Fatal(err)
		}
		types = append(types, last["type"].(string))
	}
	return types, last
}

// TestAGUI checks the AG-UI events of a run, across an interrupt.
func TestAGUI(t *testing.T) {
	s := newAGUI(t)
	input := func(more string) string {
		return `{"threadId":"t","runId":"r","messages":[],"tools":[],"context":[]` + more + `}`
	}
	types, last := s.frontend("deep/plain.yaml", input(`,"state":{"n":4,"nope":1}`))
	if got := strings.Join(types, " "); got != "RUN_STARTED STATE_SNAPSHOT STEP_STARTED STEP_FINISHED STATE_DELTA RUN_FINISHED" {
		t.Errorf("told: %s", got)
	}
	if last["threadId"] != "t" || last["runId"] != "r" {
		t.Errorf("the end is %v", last)
	}
	_, last = s.frontend("asking.yaml", input(""))
	list, _ := last["outcome"].(map[string]any)["interrupts"].([]any)
	if len(list) != 1 {
		t.Fatalf("the end is %v", last)
	}
	id := list[0].(map[string]any)["id"].(string)
	types, last = s.frontend("asking.yaml", input(`,"resume":[{"interruptId":"`+id+`","status":"resolved","payload":"no"}]`))
	if last["outcome"].(map[string]any)["type"] != "success" {
		t.Errorf("told: %v, the end is %v", types, last)
	}
	if types, _ = s.frontend("fails.yaml", input("")); types[len(types)-1] != "RUN_ERROR" {
		t.Errorf("told: %v", types)
	}
	for body, status := range map[string]int{
		`{`: 400, input("")[:20] + `"}`: 400, input(`,"forwardedProps":3`): 400, input(`,"resume":[{"interruptId":"x"}]`): 400,
	} {
		if answer, text := s.do(s.request("POST", "/agui/asking.yaml", body)); answer.StatusCode != status {
			t.Errorf("%s: %s %s", body, answer.Status, text)
		}
	}
	if answer, _ := s.do(s.request("POST", "/agui", input(""))); answer.StatusCode != 400 {
		t.Errorf("without a flow: %s", answer.Status)
	}
}

// TestAGUIClient connects AG-UI's own npm client to the server.
func TestAGUIClient(t *testing.T) {
	web := os.Getenv("GRAPHRUN_TEST_WEB")
	if web == "" {
		t.Skip("GRAPHRUN_TEST_WEB does not name the folder web with its packages (.ci/browser makes them): AG-UI's client does not talk to the server")
	}
	s := newAGUI(t)
	talk := exec.Command("node", filepath.Join(web, "test", "agui.mjs"), s.http.URL, testToken)
	if out, err := talk.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
