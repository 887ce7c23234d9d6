package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/graphrun/graphrun/internal/catalog"
	"github.com/graphrun/graphrun/internal/fleet"
	"github.com/graphrun/graphrun/node"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
)

func flows() map[string]string {
	return map[string]string{
		"double.yaml": `graphrun: v1
name: double
description: Doubles a number.
start: one
state: {n: {type: integer, required: true, description: the number}, key: {type: string, secret: true}}
nodes: {one: {kind: set, set: {n: n * 2}}}
edges: [{from: one, to: END}]
output: n
`,
		"asks.yaml": `graphrun: v1
name: asks
start: first
state: {a: {type: string}, b: {type: object, default: {}}}
nodes:
  first: {kind: human, prompt: "Which colour?", choices: [red, green], writes: {a: output}}
  second: {kind: human, prompt: "How many?", schema: {type: object, properties: {n: {type: integer}, why: {type: string}}, required: [n]}, writes: {b: output}}
edges: [{from: first, to: second}, {from: second, to: END}]
`,
		"fails.yaml": `graphrun: v1
name: fails
start: no
nodes: {no: {kind: fail, message: "it can't be"}}
`,
		"broken.yaml": "graphrun: v1\nname: broken\nstart: none\nnodes: {one: {kind: pass}}\n",
		"copy/double.yaml": `graphrun: v1
name: double
start: one
nodes: {one: {kind: pass}}
edges: [{from: one, to: END}]
`,
	}
}

// client is a client of a server under test.
type client struct {
	*mcp.ClientSession
	mu       sync.Mutex
	progress []string
	asked    []string
}

// connect connects a client over streamable HTTP. says holds the person's answers by message. If
// it is nil, the client can't ask.
func connect(t *testing.T, version string, says map[string]map[string]any) (*client, *fleet.Fleet) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range flows() {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := catalog.Open(dir, catalog.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	kept := &store.Memory{}
	r, err := runner.New(runner.Config{Kinds: node.Kinds(node.Options{}), Store: kept})
	if err != nil {
		t.Fatal(err)
	}
	f := fleet.New(fleet.Config{Runner: r, Store: kept})
	server := httptest.NewServer(Handler(Config{Catalog: c, Fleet: f, Runner: r, Version: "test"}))
	out := &client{}
	opts := &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
		out.mu.Lock()
		defer out.mu.Unlock()
		out.progress = append(out.progress, fmt.Sprintf("%v %s", req.Params.Progress, req.Params.Message))
	}}
	if says != nil {
		opts.ElicitationHandler = func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			out.mu.Lock()
			defer out.mu.Unlock()
			out.asked = append(out.asked, req.Params.Message)
			content, ok := says[req.Params.Message]
			if !ok {
				return &mcp.ElicitResult{Action: "decline"}, nil
			}
			return &mcp.ElicitResult{Action: "accept", Content: content}, nil
		}
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, opts).Connect(
		context.Background(), &mcp.StreamableClientTransport{Endpoint: server.URL}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	out.ClientSession = session
	t.Cleanup(func() {
		_ = session.Close()
		f.Stop(time.Second)
		server.CloseClientConnections()
		server.Close()
		_ = c.Close()
	})
	return out, f
}

// call calls a tool and returns its texts and its structured content.
func (c *client) call(t *testing.T, name string, args map[string]any) (texts string, data map[string]any, result *mcp.CallToolResult) {
	t.Helper()
	params := &mcp.CallToolParams{Name: name, Arguments: args}
	params.SetProgressToken("p")
	result, err := c.CallTool(context.Background(), params)
	if err != nil {
		t.Fatal(err)
	}
	for _, content := range result.Content {
		texts += content.(*mcp.TextContent).Text + "\n"
	}
	src, err := json.Marshal(result.StructuredContent)
	if err == nil {
		err = json.Unmarshal(src, &data)
	}
	if err != nil {
		t.Fatal(err)
	}
	return texts, data, result
}

// heard waits for a number of progress messages, which may arrive after the result, and returns
// them.
func (c *client) heard(often int) string {
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		c.mu.Lock()
		got, n := strings.Join(c.progress, "; "), len(c.progress)
		c.mu.Unlock()
		if n >= often || time.Now().After(end) {
			return got
		}
	}
}

// versions are protocol versions in which a server asks differently.
func versions() []string { return []string{"2025-06-18", "2026-07-28"} }

// TestTools checks that each valid flow is a tool with its inputs.
func TestTools(t *testing.T) {
	c, _ := connect(t, "", nil)
	list, err := c.ListTools(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		if tool.Name == "double" || tool.Name == "double_yaml" {
			schema, _ := json.Marshal(tool.InputSchema)
			if want := `"required":["n"]`; tool.Description == "Doubles a number." && !strings.Contains(string(schema), want) {
				t.Errorf("the schema is %s", schema)
			}
		}
	}
	if got := strings.Join(names, " "); got != "asks double double_yaml fails graphrun_answer" {
		t.Errorf("the tools are %s", got)
	}
}

// TestCall checks the output of a call, the progress of its steps, and errors.
func TestCall(t *testing.T) {
	for _, version := range versions() {
		t.Run(version, func(t *testing.T) {
			c, f := connect(t, version, nil)
			texts, data, result := c.call(t, "double_yaml", map[string]any{"n": 21})
			if strings.TrimSpace(texts) != "42" || data["status"] != "completed" || result.IsError {
				t.Errorf("it gives %q, %v", texts, data)
			}
			if got := c.heard(1); got != "1 one → END" {
				t.Errorf("the progress is %q", got)
			}
			if texts, _, result := c.call(t, "double_yaml", map[string]any{"n": "x"}); !result.IsError || !strings.Contains(texts, `input "n"`) {
				t.Errorf("a wrong input gives %q", texts)
			}
			if texts, _, result := c.call(t, "fails", nil); !result.IsError || !strings.Contains(texts, "it can't be") {
				t.Errorf("a run that fails gives %q", texts)
			}
			if driving, _, _, watched := f.Counts(); driving != 0 || watched != 0 {
				t.Errorf("%d runs are driven, %d watched", driving, watched)
			}
		})
	}
}

// TestElicitation checks that the client asks its user each question of a run.
func TestElicitation(t *testing.T) {
	for _, version := range versions() {
		t.Run(version, func(t *testing.T) {
			c, _ := connect(t, version, map[string]map[string]any{
				"Which colour?": {"answer": "green"}, "How many?": {"n": 3, "why": "because"},
			})
			texts, data, _ := c.call(t, "asks", nil)
			state, _ := json.Marshal(data["state"])
			if data["status"] != "completed" || string(state) != `{"a":"green","b":{"n":3,"why":"because"}}` {
				t.Errorf("it gives %q, %v", texts, data)
			}
			if got := strings.Join(c.asked, " "); got != "Which colour? How many?" {
				t.Errorf("asked: %s", got)
			}
		})
	}
}

// TestNobodyToAsk checks that the result names the run if the client can't ask or its user
// declines, and that the answering tool continues the run.
func TestNobodyToAsk(t *testing.T) {
	for _, version := range versions() {
		for name, says := range map[string]map[string]map[string]any{"can't": nil, "declines": {}} {
			t.Run(version+" "+name, func(t *testing.T) {
				c, _ := connect(t, version, says)
				texts, data, result := c.call(t, "asks", nil)
				id, _ := data["run_id"].(string)
				if result.IsError || data["status"] != "paused" || !strings.Contains(texts, id) || !strings.Contains(texts, "Which colour?") || !strings.Contains(texts, answerTool) {
					t.Fatalf("it gives %q, %v", texts, data)
				}
				if texts, _, result := c.call(t, answerTool, map[string]any{"run_id": id, "value": "blue"}); !result.IsError || !strings.Contains(texts, "blue") {
					t.Errorf("an answer that is not legal gives %q", texts)
				}
				if _, data, _ = c.call(t, answerTool, map[string]any{"run_id": id, "value": "red"}); data["status"] != "paused" {
					t.Errorf("after the first answer the run is %v", data["status"])
				}
				_, data, _ = c.call(t, answerTool, map[string]any{"run_id": id, "target": "second", "value": map[string]any{"n": 2}})
				if state, _ := json.Marshal(data["state"]); data["status"] != "completed" || string(state) != `{"a":"red","b":{"n":2}}` {
					t.Errorf("in the end it is %v", data)
				}
				if texts, _, result := c.call(t, answerTool, map[string]any{"run_id": "none", "value": 1}); !result.IsError {
					t.Errorf("no such run gives %q", texts)
				}
			})
		}
	}
}
