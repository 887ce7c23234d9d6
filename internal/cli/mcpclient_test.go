package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

const countedFlow = `graphrun: v1
name: count
start: step
state: {n: {type: integer, default: 0}, most: {type: integer, default: 5}}
nodes: {step: {kind: set, set: {n: n + 1}}}
edges: [{from: step, to: step, when: n < most}, {from: step, to: END}]
`

// TestMCPClient lets the official client from npm call flows as tools, over HTTP and over stdin
// and stdout; see web/test/mcp.mjs.
func TestMCPClient(t *testing.T) {
	web := os.Getenv("GRAPHRUN_TEST_WEB")
	if web == "" {
		t.Skip("GRAPHRUN_TEST_WEB does not name the folder web with its packages (.ci/browser makes them): the official MCP client does not talk to the server")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"order.yaml": orderFlow, "count.yaml": countedFlow} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	talk := exec.Command("node", filepath.Join(web, "test", "mcp.mjs"), self, dir)
	talk.Env = append(os.Environ(), "XDG_CONFIG_HOME="+dir)
	if out, err := talk.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
