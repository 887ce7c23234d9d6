//lint:file-ignore SA1019 servers ask for roots for as long as the protocol has them

package tool

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// addRootsTool adds a tool that tells of which folders its server knows.
func addRootsTool(s *mcp.Server) {
	s.AddTool(&mcp.Tool{Name: "roots", InputSchema: map[string]any{"type": "object"}}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		answer, ok := r.Params.InputResponses["roots"].(*mcp.ListRootsResult)
		if !ok {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"roots": &mcp.ListRootsParams{}}}, nil
		}
		out := ""
		for _, root := range answer.Roots {
			out += root.Name + " " + root.URI + "\n"
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: out}}}, nil
	})
}

func TestRoots(t *testing.T) {
	decls := fakeServer(t, "polite", nil)
	if got, problem := callServer(t, newRegistry(t, decls), &fakeActor{}, "roots", nil); got != "" {
		t.Errorf("without roots: %v, %s", got, problem)
	}
	dir := t.TempDir()
	block, _ := decls["srv"].(map[string]any)["mcp"].(map[string]any)
	block["roots"] = []any{"sub dir", "/data"}
	got, problem := callServer(t, impatient(t, decls, dir), &fakeActor{}, "roots", nil)
	want := "data file:///data\nsub dir file://" + filepath.ToSlash(dir) + "/sub%20dir\n"
	if got != want {
		t.Errorf("got %v, %s, want %s", got, problem, want)
	}
}
