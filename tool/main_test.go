// The test binary is also the server that the tests start: with TOOL_TEST_SERVER set it acts in
// that mode.

package tool

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

const (
	serverEnv = "TOOL_TEST_SERVER"
	addrEnv   = "TOOL_TEST_ADDR"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv(serverEnv); mode != "" {
		os.Exit(serve(mode))
	}
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/graphrun/graphrun/internal/process.startPrograms"))
}

// serve runs a server on stdin and stdout.
func serve(mode string) int {
	switch mode {
	case "broken":
		fmt.Fprintln(os.Stderr, "Error: no key in canary-99")
		fmt.Fprintln(os.Stderr, "bye")
		return 3
	case "garbage":
		fmt.Println("starting up!")
	case "silent": // keeps everything open and sends nothing
		report("started")
		select {}
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		child := exec.Command("/proc/self/exe")
		child.Env = append(os.Environ(), serverEnv+"=silent")
		if err := child.Start(); err != nil {
			return 1
		}
	}
	var transport mcp.Transport = &mcp.StdioTransport{}
	switch mode {
	case "old": // ignores unknown requests
		transport = &mcp.IOTransport{Reader: io.NopCloser(deafReader{bufio.NewScanner(os.Stdin), new(bytes.Buffer)}), Writer: os.Stdout}
	case "together": // starts after all servers have connected
		conn, err := net.Dial("tcp", os.Getenv(addrEnv))
		if err != nil {
			return 1
		}
		_, _ = io.Copy(io.Discard, conn)
	}
	err := newServer(mode).Run(context.Background(), transport)
	if mode == "stubborn" {
		select {}
	}
	if err != nil && mode != "polite" {
		return 1
	}
	return 0
}

// deafReader drops the request server/discover, which servers of older versions don't know.
type deafReader struct {
	lines *bufio.Scanner
	rest  *bytes.Buffer
}

func (d deafReader) Read(p []byte) (int, error) {
	for d.rest.Len() == 0 {
		if !d.lines.Scan() {
			return 0, io.EOF
		}
		if !bytes.Contains(d.lines.Bytes(), []byte("server/discover")) {
			d.rest.Write(append(d.lines.Bytes(), '\n'))
		}
	}
	return d.rest.Read(p)
}

// newServer returns a server with its tools.
func newServer(string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "fake", Version: "1"}, nil)
	add := func(name string, hints *mcp.ToolAnnotations, do func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)) {
		s.AddTool(&mcp.Tool{Name: name, Description: "does " + name, Annotations: hints, InputSchema: map[string]any{
			"$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
			"properties": map[string]any{"text": map[string]any{"type": "string"}},
		}}, do)
	}
	text := func(s string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
	}
	add("echo", nil, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		said := string(r.Params.Arguments) + " " + os.Getenv("EXTRA")
		if parent, ok := r.Params.Meta["traceparent"]; ok {
			said += fmt.Sprint(" under ", parent)
		}
		return text(said), nil
	})
	add("grow", nil, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		add("grown", nil, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return text("grown up"), nil })
		return text("growing"), nil
	})
	add("noisy", nil, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		fmt.Println("{debug: true}")
		fmt.Println("\"a text\"")
		return text("quiet"), nil
	})
	add("steps", nil, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range 3 {
			if err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Message: "step", Progress: float64(i + 1), Total: 3}); err != nil {
				return nil, err
			}
		}
		return text("done"), nil
	})
	add("pid", nil, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{StructuredContent: map[string]any{"pid": os.Getpid()}}, nil
	})
	add("parts", nil, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{
			&mcp.TextContent{Text: "a"}, &mcp.ImageContent{MIMEType: "image/png", Data: []byte{1}},
		}}, nil
	})
	add("ask", nil, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if answer, ok := r.Params.InputResponses["who"].(*mcp.ElicitResult); ok {
			return text(fmt.Sprint(answer.Action, " ", answer.Content["name"])), nil
		}
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"who": &mcp.ElicitParams{
			Mode: "form", Message: "Who are you?", RequestedSchema: map[string]any{
				"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}, "required": []string{"name"},
			},
		}}}, nil
	})
	addTexts(s)
	add("fail", nil, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		out := text("it went wrong")
		out.IsError = true
		return out, nil
	})
	die := func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		report("died")
		fmt.Fprintln(os.Stderr, "fatal error: out of cheese")
		os.Exit(3)
		return nil, nil
	}
	add("die", nil, die)
	add("die-again", &mcp.ToolAnnotations{ReadOnlyHint: true}, die)
	add("slow", nil, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		report("slow")
		<-ctx.Done()
		report("cancelled")
		return nil, ctx.Err()
	})
	return s
}

// addTexts adds resources and prompts to the server.
func addTexts(s *mcp.Server) {
	give := func(contents ...*mcp.ResourceContents) mcp.ResourceHandler {
		return func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: contents}, nil
		}
	}
	s.AddResource(&mcp.Resource{URI: "test://notes", Name: "notes"}, give(&mcp.ResourceContents{URI: "test://notes", MIMEType: "text/plain", Text: "be brief"}))
	s.AddResource(&mcp.Resource{URI: "test://both", Name: "both"}, give(
		&mcp.ResourceContents{URI: "test://a.png", MIMEType: "image/png", Blob: []byte("ABC")},
		&mcp.ResourceContents{URI: "test://x/b.pdf", MIMEType: "application/pdf", Blob: []byte("ABC")},
	))
	s.AddResource(&mcp.Resource{URI: "test://none", Name: "none"}, give())
	s.AddPrompt(&mcp.Prompt{Name: "review", Arguments: []*mcp.PromptArgument{{Name: "what"}}}, func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{
			{Role: "user", Content: &mcp.TextContent{Text: "Review " + r.Params.Arguments["what"]}},
			{Role: "assistant", Content: &mcp.TextContent{Text: "I will."}},
			{Role: "user", Content: &mcp.ImageContent{MIMEType: "image/png", Data: []byte("ABC")}},
		}}, nil
	})
}

// report reports an event to the test over a new connection.
func report(what string) {
	addr := os.Getenv(addrEnv)
	if addr == "" {
		return
	}
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	fmt.Fprintln(conn, what)
	if what == "started" {
		select {} // the connection ends with the process
	}
	_ = conn.Close()
}
