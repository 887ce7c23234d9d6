//go:build unix

package tool

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// findOtherServer returns the file of another npm server, in the same folder as the one that
// the tests were given.
func findOtherServer(t *testing.T, name string) string {
	t.Helper()
	main := os.Getenv("GRAPHRUN_TEST_MCP")
	if main == "" {
		t.Skip("no server from npm: GRAPHRUN_TEST_MCP=$(.ci/mcp-server) go test ./tool")
	}
	return strings.Replace(main, "server-everything", name, 1)
}

func declareNPM(command []any, more map[string]any) map[string]any {
	mcp := map[string]any{"command": command}
	for key, value := range more {
		mcp[key] = value
	}
	return map[string]any{"srv": map[string]any{"mcp": mcp}}
}

// startHTTPServer starts the real server on HTTP and returns its address.
func startHTTPServer(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	_ = listener.Close()
	cmd := exec.Command("node", findOtherServer(t, "server-everything"), "streamableHttp")
	cmd.Env = append(os.Environ(), "PORT="+port)
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for lines := bufio.NewScanner(said); !strings.Contains(lines.Text(), "listening"); {
		if !lines.Scan() {
			t.Fatal("the server on HTTP does not listen")
		}
	}
	return "http://127.0.0.1:" + port + "/mcp"
}

// A real server offers resources, prompts, questions and progress on both transports.
func TestRealServerOffers(t *testing.T) {
	for name, decls := range map[string]func(t *testing.T) map[string]any{
		"stdio": func(t *testing.T) map[string]any {
			return declareNPM([]any{"node", findOtherServer(t, "server-everything"), "stdio"}, nil)
		},
		"http": func(t *testing.T) map[string]any {
			return map[string]any{"srv": map[string]any{"mcp": map[string]any{"url": startHTTPServer(t)}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRegistry(t, decls(t))
			actor := &fakeActor{progress: make(chan string, 4)}
			offers, err := r.ListOffers(t.Context(), actor.Warn, "srv")
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"srv:demo://resource/static/document/features.md", "srv:args-prompt"} {
				if !slices.ContainsFunc(offers, func(o Offer) bool { return o.Name == want }) {
					t.Errorf("%q is not offered", want)
				}
			}
			parts, err := r.FetchParts(t.Context(), actor.Warn, "resource", "srv", "demo://resource/dynamic/text/1", nil)
			if err != nil || !strings.Contains(fmt.Sprint(parts), "Resource 1: This is a plaintext resource") {
				t.Errorf("a resource of a template: %v, %v", parts, err)
			}
			parts, err = r.FetchParts(t.Context(), actor.Warn, "prompt", "srv", "args-prompt", map[string]string{"city": "Ulm"})
			if err != nil || fmt.Sprint(parts) != "[map[text:What's weather in Ulm?]]" {
				t.Errorf("a prompt: %v, %v", parts, err)
			}
			if got, problem := callServer(t, r, actor, "get-tiny-image", nil); !strings.Contains(fmt.Sprint(got), "image:data:image/png;base64,") {
				t.Errorf("an image: %v, %s", got, problem)
			}
			if got, problem := callServer(t, r, actor, "trigger-long-running-operation", map[string]any{"duration": 0.2, "steps": 2}); problem != "" {
				t.Errorf("a long operation: %v, %s", got, problem)
			}
			if got := <-actor.progress; got != "srv.trigger-long-running-operation  1/2" {
				t.Errorf("progress %q", got)
			}
			checkElicitation(t, r)
		})
	}
}

// checkElicitation lets a real server ask its question, and answers it.
func checkElicitation(t *testing.T, r *Registry) {
	t.Helper()
	actor := &fakeActor{}
	const name = "trigger-elicitation-request"
	if got, problem := callServer(t, r, actor, name, nil); problem != `tool "srv.`+name+`" waits for an answer of a person` {
		t.Errorf("%v, %s", got, problem)
	}
	if len(actor.asked) != 1 || !strings.Contains(actor.asked[0], "Please provide inputs") {
		t.Errorf("asked %v", actor.asked)
	}
	actor.answer = map[string]any{"name": "Ada", "check": true, "legacyTitledEnum": "pet-1"}
	if got, problem := callServer(t, r, actor, name, nil); !strings.Contains(fmt.Sprint(got), "- Name: Ada") {
		t.Errorf("answered: %v, %s", got, problem)
	}
	actor.answer = Declined
	if got, problem := callServer(t, r, actor, name, nil); !strings.Contains(fmt.Sprint(got), "declined") {
		t.Errorf("declined: %v, %s", got, problem)
	}
}

// The file system server works only in its folder.
func TestRealFileSystem(t *testing.T) {
	dir := t.TempDir()
	r := newRegistry(t, declareNPM([]any{"node", findOtherServer(t, "server-filesystem"), dir}, nil))
	actor := &fakeActor{}
	path := filepath.Join(dir, "a.txt")
	if got, problem := callServer(t, r, actor, "write_file", map[string]any{"path": path, "content": "hello"}); problem != "" {
		t.Fatalf("%v, %s", got, problem)
	}
	if got, problem := callServer(t, r, actor, "read_text_file", map[string]any{"path": path}); !strings.Contains(fmt.Sprint(got), "hello") {
		t.Errorf("%v, %s", got, problem)
	}
	if got, problem := callServer(t, r, actor, "read_text_file", map[string]any{"path": "/etc/hostname"}); !strings.Contains(problem, "outside allowed") {
		t.Errorf("outside: %v, %s", got, problem)
	}
}

// The memory server still has its data after a restart.
func TestRealMemory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "memory.jsonl")
	decls := declareNPM([]any{"node", findOtherServer(t, "server-memory")}, map[string]any{"env": map[string]any{"MEMORY_FILE_PATH": file}})
	r := newRegistry(t, decls)
	ada := map[string]any{"name": "Ada", "entityType": "person", "observations": []any{"counts"}}
	if got, problem := callServer(t, r, &fakeActor{}, "create_entities", map[string]any{"entities": []any{ada}}); problem != "" {
		t.Fatalf("%v, %s", got, problem)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	got, problem := callServer(t, newRegistry(t, decls), &fakeActor{}, "search_nodes", map[string]any{"query": "Ada"})
	if !strings.Contains(fmt.Sprint(got), "counts") {
		t.Errorf("%v, %s", got, problem)
	}
}
