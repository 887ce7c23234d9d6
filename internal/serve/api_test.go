package serve

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/graphrun/graphrun/runner"
)

// described compiles the schema of an operation's response from the API description.
func described(t *testing.T, doc map[string]any, o *operation) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("api.json", doc); err != nil {
		t.Fatal(err)
	}
	path := strings.NewReplacer("~", "~0", "/", "~1").Replace(strings.ReplaceAll(o.pattern(), "...}", "}"))
	schema, err := c.Compile("api.json#/paths/" + path + "/" + strings.ToLower(o.method) + "/responses/" + itoa(o.status) + "/content/application~1json/schema")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func itoa(n int) string {
	text, _ := json.Marshal(n)
	return string(text)
}

// TestOperations calls every operation and validates the response against the description.
func TestOperations(t *testing.T) {
	s := newTested(t, nil)
	s.call(201, "POST", "/runs", `{"flow":"asking.yaml","run_id":"asks","labels":{"a":"b"}}`)
	s.until("asks", "paused")
	s.call(201, "POST", "/runs", `{"flow":"deep/plain.yaml","run_id":"done","input":{"n":2}}`)
	s.until("done", "completed")
	wait := filepath.Join(t.TempDir(), "go")
	for _, id := range []string{"busy1", "busy2"} {
		s.call(201, "POST", "/runs", `{"flow":"sleeping.yaml","run_id":"`+id+`","input":{"go":"`+wait+`"}}`)
	}
	calls := map[string]struct{ path, body string }{
		"health": {}, "ready": {}, "server": {}, "metrics": {}, "openapi": {}, "listFlows": {}, "listRuns": {}, "listQuestions": {},
		"getFlow":  {path: "/flows/asking.yaml"},
		"startRun": {body: `{"flow":"asking.yaml","input":{"n":1}}`},
		"getRun":   {path: "/runs/asks?history=true"}, "getRunPage": {path: "/runs/asks/page"}, "getRunRecord": {path: "/runs/asks/record"}, "getRunState": {path: "/runs/asks/state?at=1"},
		"getRunWhy": {path: "/runs/asks/why"}, "getRunEvents": {path: "/runs/done/events"}, "getRunLogs": {path: "/runs/asks/logs"}, "getRunConversation": {path: "/runs/asks/conversation"},
		"answerRun": {"/runs/asks/answers", `{"answers":[{"target":"ok","value":"yes"}],"by":"Ada"}`},
		"pauseRun":  {path: "/runs/busy1/pause"}, "cancelRun": {path: "/runs/busy2/cancel"},
		"resumeRun": {path: "/runs/done/resume"}, "forkRun": {"/runs/done/fork", `{"at":0,"set":{"n":5}}`},
		"deleteRun": {path: "/runs/done"},
	}
	var doc map[string]any
	if err := json.Unmarshal(s.server.describe(), &doc); err != nil {
		t.Fatal(err)
	}
	order := append(append([]operation(nil), s.server.operations...), operation{})
	for i := range order { // delete last
		if order[i].id == "deleteRun" {
			order[len(order)-1], order[i] = order[i], order[len(order)-1]
		}
	}
	for i := range order {
		o := &order[i]
		if o.id == "" {
			continue
		}
		c, ok := calls[o.id]
		if !ok {
			t.Errorf("%s is not called by this test", o.id)
			continue
		}
		if c.path == "" {
			c.path = o.path
		}
		path := prefix + c.path
		if o.path == "/metrics" {
			path = c.path
		}
		if o.id == "deleteRun" {
			s.until("done", "completed")
		}
		answer, body := s.do(s.request(o.method, path, c.body))
		if answer.StatusCode != o.status {
			t.Errorf("%s: %s\n%s", o.id, answer.Status, body)
			continue
		}
		if o.media != "" || o.status == 204 {
			continue
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if err := described(t, doc, o).Validate(value); err != nil {
			t.Errorf("%s answers what its description does not say: %v\n%s", o.id, err, body)
		}
		if o.id == "startRun" {
			s.until(value.(map[string]any)["run_id"].(string), "paused")
		}
	}
	if err := os.WriteFile(wait, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.until("busy1", "paused")
	s.until("busy2", "cancelled")
	if run := s.until("asks", "completed"); run["state"].(map[string]any)["who"] != "yes" {
		t.Errorf("the answer did not come: %v", run["state"])
	}
}

// TestSameObject checks that the API returns a run as run -o json prints it.
func TestSameObject(t *testing.T) {
	s := newTested(t, nil)
	s.call(201, "POST", "/runs", `{"flow":"asking.yaml","run_id":"r","input":{"key":"a secret text"}}`)
	s.until("r", "paused")
	_, got := s.do(s.request("GET", prefix+"/runs/r", ""))
	result, err := s.server.cfg.Runner.Show("r", runner.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := writeJSON(&want, result); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Errorf("got  %s\nwant %s", got, want.Bytes())
	}
	for _, path := range []string{"/runs/r", "/runs/r/page", "/runs/r/state", "/runs/r/why"} {
		if _, body := s.do(s.request("GET", prefix+path, "")); bytes.Contains(body, []byte("a secret text")) {
			t.Errorf("%s tells a secret", path)
		}
	}
}

// TestProblems checks the problem objects of bad requests.
func TestProblems(t *testing.T) {
	s := newTested(t, nil)
	s.call(201, "POST", "/runs", `{"flow":"asking.yaml","run_id":"over","answers":{"ok":["yes"]}}`)
	s.until("over", "completed")
	s.call(201, "POST", "/runs", `{"flow":"asking.yaml","run_id":"r"}`)
	s.until("r", "paused")
	for _, c := range []struct {
		status             int
		method, path, body string
		kind, says         string
	}{
		{404, "GET", "/runs/none", "", "no-run", `the latest is "r"`},
		{404, "GET", "/runs/r?at=99", "", "no-step", "has taken 3"},
		{400, "GET", "/runs/r?at=-1", "", "bad-request", "at least 0"},
		{400, "GET", "/runs?nope=1", "", "bad-request", `"nope"`},
		{400, "GET", "/runs?status=nope", "", "bad-request", "allowed: cancelled"},
		{400, "GET", "/runs?cursor=!", "", "bad-request", "cursor"},
		{404, "GET", "/flows/askin.yaml", "", "no-flow", `did you mean "asking.yaml"?`},
		{422, "POST", "/runs", `{"flow":"broken.yaml"}`, "invalid-flow", "broken.yaml:"},
		{422, "POST", "/runs", `{"flow":"deep/plain.yaml"}`, "input", `"n": required`},
		{422, "POST", "/runs", `{"flow":"deep/plain.yaml","input":{"n":"x","m":1}}`, "input", "no such state key"},
		{409, "POST", "/runs", `{"flow":"asking.yaml","run_id":"r"}`, "run-exists", "exists"},
		{400, "POST", "/runs", `{"flow":"asking.yaml","run_id":"../x"}`, "bad-request", "only letters"},
		{400, "POST", "/runs", `{"flow":"asking.yaml","run_id":".."}`, "bad-request", "only letters"},
		{400, "POST", "/runs", `{"flow":"asking.yaml","timeout":"soon"}`, "bad-request", "duration"},
		{422, "POST", "/runs", `{"flow":"asking.yaml","answers":{"nobody":["x"]}}`, "input", "nobody"},
		{422, "POST", "/runs/r/answers", `{"answers":[{"target":"ok","value":"maybe"}]}`, "input", "maybe"},
		{409, "POST", "/runs/over/answers", `{"answers":[{"target":"ok","value":"yes"}]}`, "conflict", "was answered"},
		{400, "POST", "/runs/r/answers", `{}`, "bad-request", "answers"},
		{400, "POST", "/runs/r/fork", `{}`, "bad-request", `"at" is needed`},
		{422, "POST", "/runs/r/fork", `{"at":77}`, "input", "has taken"},
		{422, "POST", "/runs/r/fork", `{"at":1,"set":{"n":"x"}}`, "input", "n"},
		{400, "GET", "/runs/r/events?after=x", "", "bad-request", "after"},
		{405, "PUT", "/runs", "", "method", "POST"},
		{404, "GET", "/nowhere", "", "no-page", ""},
	} {
		p := s.call(c.status, c.method, c.path, c.body)
		text, _ := json.Marshal(p)
		if p["type"] != "urn:graphrun:problem:"+c.kind || int(p["status"].(float64)) != c.status || p["title"] == "" || !strings.Contains(strings.ReplaceAll(string(text), `\"`, `"`), c.says) {
			t.Errorf("%s %s %s: %s", c.method, c.path, c.body, text)
		}
	}
	answer, _ := s.do(s.request("GET", prefix+"/runs/none", ""))
	if kind := answer.Header.Get("Content-Type"); kind != "application/problem+json" {
		t.Errorf("a problem is %s", kind)
	}
}

// TestNoAnswers checks that empty lists of answers answer nothing.
func TestNoAnswers(t *testing.T) {
	s := newTested(t, nil)
	s.call(201, "POST", "/runs", `{"flow":"asking.yaml","run_id":"r","answers":{"ok":[]}}`)
	s.until("r", "paused")
	s.call(202, "POST", "/runs/r/resume", `{"answers":{"ok":[]}}`)
	s.until("r", "paused")
	s.call(202, "POST", "/runs/r/resume", `{"answers":{"ok":["yes"]}}`)
	s.until("r", "completed")
}

// TestIdempotency checks that concurrent and repeated requests with one key start one run.
func TestIdempotency(t *testing.T) {
	s := newTested(t, nil)
	body := `{"flow":"deep/plain.yaml","input":{"n":2}}`
	send := func(key, body string) (int, string) {
		r := s.request("POST", prefix+"/runs", body)
		r.Header.Set("Idempotency-Key", key)
		answer, text := s.do(r)
		var run struct {
			ID string `json:"run_id"`
		}
		_ = json.Unmarshal(text, &run) // a problem has none
		return answer.StatusCode, run.ID
	}
	type sent struct {
		status int
		id     string
	}
	results := make(chan sent, 8)
	for range cap(results) {
		go func() {
			status, id := send("a key", body)
			results <- sent{status, id}
		}()
	}
	ids, created := map[string]int{}, 0
	for range cap(results) {
		r := <-results
		if r.status == http.StatusCreated {
			created++
		}
		if r.id != "" {
			ids[r.id]++
		}
	}
	if created != 1 || len(ids) != 1 {
		t.Errorf("%d were created, of the ids %v", created, ids)
	}
	if status, id := send("a key", body); status != 200 || ids[id] == 0 {
		t.Errorf("the same once more: %d, %s", status, id)
	}
	if status, _ := send("a key", `{"flow":"deep/plain.yaml","input":{"n":3}}`); status != 422 {
		t.Errorf("the key with another request: %d", status)
	}
	if status, id := send("another key", body); status != 201 || ids[id] != 0 {
		t.Errorf("another key: %d, %s", status, id)
	}
}

// TestListPages checks that pages list each run once, even if runs are deleted in between.
func TestListPages(t *testing.T) {
	s := newTested(t, nil)
	var want []string
	for _, id := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		s.call(201, "POST", "/runs", `{"flow":"deep/plain.yaml","input":{"n":1},"run_id":"`+id+`","labels":{"x":"y"}}`)
		s.until(id, "completed")
		want = append([]string{id}, want...)
	}
	for _, query := range []string{"?limit=2", "?limit=2&label=x=y", "?limit=3&status=completed", "?limit=50", "?limit=1&graph=plain"} {
		var got []string
		for next := ""; ; {
			path := "/runs" + query
			if next != "" {
				path += "&cursor=" + next
			}
			list := s.call(200, "GET", path, "")
			for _, run := range list["runs"].([]any) {
				got = append(got, run.(map[string]any)["run_id"].(string))
			}
			if next, _ = list["next"].(string); next == "" {
				break
			}
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s lists %v", query, got)
		}
	}
	first := s.call(200, "GET", "/runs?limit=2", "")
	s.call(204, "DELETE", "/runs/f", "") // the last of the first page
	second := s.call(200, "GET", "/runs?limit=2&cursor="+first["next"].(string), "")
	if id := second["runs"].([]any)[0].(map[string]any)["run_id"]; id != "e" {
		t.Errorf("after a deleted run comes %v", id)
	}
	if list := s.call(200, "GET", "/runs?label=x=z", ""); len(list["runs"].([]any)) != 0 {
		t.Errorf("a label lists %v", list)
	}
}
