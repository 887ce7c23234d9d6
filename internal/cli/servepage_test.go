package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Flows that a browser starts, answers and watches: see web/test/serve.mjs.
const orderFlow = `graphrun: v1
name: order
description: Adds up an order and asks whether it may go.
start: check
state:
  thing: {type: string, required: true, description: what is ordered}
  count: {type: integer, default: 1, minimum: 1}
  key: {type: string, secret: true}
  total: {type: integer, default: 0}
  verdict: {type: string}
nodes:
  check: {kind: set, set: {total: 0}}
  add: {kind: set, set: {total: total + 1}}
  approve: {kind: human, prompt: "Send {{ thing }}, {{ total }} times?", choices: ["yes", "no"], writes: {verdict: output}}
  send: {kind: pass}
  drop: {kind: pass}
edges:
  - {from: check, to: add}
  - {from: add, to: add, when: total < count}
  - {from: add, to: approve}
  - {from: approve, to: send, when: verdict == "yes"}
  - {from: approve, to: drop}
  - {from: send, to: END}
  - {from: drop, to: END}
`

const slowFlow = `graphrun: v1
name: slow
start: work
state: {n: {type: integer, default: 0}, most: {type: integer, default: 15}}
limits: {max_steps: 2000, max_visits: 1000, node_timeout: 10s}
nodes:
  work: {kind: exec, command: [sh, -c, "sleep 0.25; echo done"]}
  count: {kind: set, set: {n: n + 1}}
edges:
  - {from: work, to: count}
  - {from: count, to: work, when: n < most}
  - {from: count, to: END}
`

// gatedFlow waits in the ninth step until a file exists.
const gatedFlow = `graphrun: v1
name: gated
start: work
state: {n: {type: integer, default: 0}}
limits: {max_steps: 100, node_timeout: 5m}
nodes:
  work: {kind: exec, command: [sh, -c, "test {{ n }} -lt 4 || until test -e 'DIR/opened'; do sleep 0.05; done; echo done"]}
  count: {kind: set, set: {n: n + 1}}
edges:
  - {from: work, to: count}
  - {from: count, to: work, when: n < 15}
  - {from: count, to: END}
`

const formFlow = `graphrun: v1
name: form
start: ask
nodes:
  ask:
    kind: human
    prompt: "How was it?"
    schema: {type: object, properties: {score: {type: integer, minimum: 0, maximum: 10}, note: {type: string}}, required: [score]}
edges: [{from: ask, to: END}]
output: nodes.ask.output
`

// clerkFlow has a model with a tool, and a list of which an element fails.
const clerkFlow = `graphrun: v1
name: asks
start: clerk
state: {answer: {type: string}, list: {type: array, default: [1, 2, 3]}}
models: {default: scripted/script.yaml}
tools:
  price:
    exec: {command: [sh, -c, "echo 25"], parse: json}
    description: The price of a piece.
    parameters: {type: object, properties: {article: {type: string}}}
limits: {max_steps: 9, node_timeout: 30s}
parallel: {on_failure: continue_others}
nodes:
  clerk: {kind: agent, prompt: "What is the price?", tools: [price], writes: [answer]}
  work:
    kind: exec
    script: 'if [ "$N" = 2 ]; then echo "no <b>two</b>" >&2; exit 1; fi; echo "$N"'
    env: {N: "{{ item }}"}
    each: list
    parse: json
  after: {kind: pass}
edges: [{from: clerk, to: work}, {from: work, to: after}, {from: after, to: END}]
`

const clerkScript = `responses:
  - {node: clerk, tool_calls: [{name: price, args: {article: bolt}}]}
  - {node: clerk, content: It is 25.}
`

// TestServedPageInBrowser uses the served page with a browser; see web/test/serve.mjs.
func TestServedPageInBrowser(t *testing.T) {
	web := os.Getenv("GRAPHRUN_TEST_WEB")
	if web == "" {
		t.Skip("GRAPHRUN_TEST_WEB does not name the folder web with its packages (.ci/browser makes them): no browser uses the page")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"order.yaml": orderFlow, "slow.yaml": slowFlow, "gated.yaml": strings.ReplaceAll(gatedFlow, "DIR", dir), "form.yaml": formFlow, "asks.yaml": clerkFlow, "script.yaml": clerkScript} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	look := exec.Command("node", filepath.Join(web, "test", "serve.mjs"), self, dir)
	look.Env = append(os.Environ(), "XDG_CONFIG_HOME="+dir)
	if out, err := look.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
