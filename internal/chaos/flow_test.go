//go:build linux

// Random flows whose result does not depend on disturbances.

package chaos

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// task is the program of every exec node. It holds a lock while it runs, and logs what it does. If two
// programs run for one key at the same time, the second adds a line to the file twice.
const task = `k=$GRAPHRUN_TASK_KEY
[ "$FAR" != deaf ] || trap '' TERM
exec 9>>"alive/$k"
flock -n 9 || echo "$k $GRAPHRUN_TASK_NODE" >> twice
if [ -e alone ]; then
	exec 8>>"alive/run-$GRAPHRUN_TASK_RUN_ID.$$"
	flock 8
	for other in alive/run-*; do
		case $other in
		"alive/run-$GRAPHRUN_TASK_RUN_ID".*) ;;
		*) flock -n -s "$other" true 8>&- 9>&- || echo "$k beside $other" >> twice ;;
		esac
	done
fi
echo "begin $k $GRAPHRUN_TASK_RUN_ID:$GRAPHRUN_TASK_NODE,$GRAPHRUN_TASK_VISIT,$IDX $GRAPHRUN_TASK_ATTEMPT $$ $FAR" >> effects
case $FAR in
yes) setsid sh -c "sleep $TAKES" 8>&- ;;
deaf) sleep "$TAKES"; sleep "$TAKES" ;;
*) sleep "$TAKES" 8>&- 9>&- ;;
esac
[ "$GRAPHRUN_TASK_ATTEMPT" -gt "$FAILS" ] || exit 7
echo "end $k" >> effects
echo "$GRAPHRUN_TASK_NODE $GRAPHRUN_TASK_VISIT $IDX"
`

// flow is a random flow.
type flow struct {
	text string
	// people are the human nodes that get an answer.
	people []string
	// alone marks a flow that allows only one run at a time.
	alone bool
	// last is the node of `finally`, which runs at each end of the run, or "".
	last string
}

// builder writes a flow as a sequence of blocks, each with one first and one last node.
type builder struct {
	*rand.Rand
	nodes, edges strings.Builder
	keys         []string
	n            int
	people       []string
	// inner marks a subgraph.
	inner bool
}

// newFlow makes a flow of a few blocks.
func newFlow(random *rand.Rand) *flow {
	b := &builder{Rand: random}
	first := b.addNode("pass", "")
	last := first
	for range 3 + b.IntN(4) {
		last = b.addBlock(last)
	}
	b.addEdge(last, "END", "")
	sub := b.addSubgraph()
	keys := "  log: {type: array, reducer: append}\n  n: {type: integer, default: 0}\n"
	for _, key := range b.keys {
		keys += "  " + key + ": {}\n"
	}
	alone, last, more := b.IntN(4) == 0, "", ""
	if alone {
		more += "concurrency: {group: \"'one'\", limit: 1}\n"
	}
	if b.IntN(4) == 0 {
		last = b.addLast()
		more += "finally: " + last + "\n"
	}
	text := "graphrun: v1\nname: chaos\nstart: " + first + "\nlimits: {max_steps: 1000, node_timeout: 5m}\n" + more +
		"state:\n" + keys + "nodes:\n" + b.nodes.String() + "edges:\n" + b.edges.String() + sub
	return &flow{text: text, people: b.people, alone: alone, last: last}
}

// addSubgraph returns a graph for graph nodes.
func (b *builder) addSubgraph() string {
	inner := &builder{Rand: b.Rand, inner: true}
	first := inner.addNode("pass", "")
	last := first
	for range 1 + b.IntN(2) {
		last = []func(string) string{inner.addWork, inner.addEach, inner.addFanOut, inner.addWait}[b.IntN(4)](last)
	}
	inner.addEdge(last, "END", "")
	indent := func(s string) string { return strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n    ") }
	return "graphs:\n  sub:\n    name: sub\n    start: " + first + "\n    state:\n      log: {type: array, reducer: append}\n      n: {type: integer, default: 0}\n" +
		"    nodes:\n    " + indent(inner.nodes.String()) + "\n    edges:\n    " + indent(inner.edges.String()) + "\n"
}

func (b *builder) addNode(kind, more string) string {
	b.n++
	id := fmt.Sprintf("n%d", b.n)
	fmt.Fprintf(&b.nodes, "  %s: {kind: %s%s}\n", id, kind, more)
	return id
}

func (b *builder) addEdge(from, to, more string) {
	fmt.Fprintf(&b.edges, "  - {from: %s, to: %s%s}\n", from, to, more)
}

// addBlock adds a random block after a node, and returns the last node of the block.
func (b *builder) addBlock(from string) string {
	blocks := []func(string) string{b.addWork, b.addEach, b.addFanOut, b.addFanOut, b.addLoop, b.addHuman, b.addUnanswered, b.addWait, b.addGraphNode}
	return blocks[b.IntN(len(blocks))](from)
}

// again is the retry of every program, so that a killed program does not end the run.
const again = `, retry: {max_attempts: 8, initial_interval: 30ms, max_interval: 60ms}`

// addExec adds a node that runs a program. index is the expression for the index of an element.
func (b *builder) addExec(index, more string) string {
	fails, far := 0, "no"
	if b.IntN(3) == 0 {
		fails = 1 + b.IntN(2)
	}
	switch b.IntN(12) {
	case 0, 1, 2, 3:
		far = "yes"
	case 4:
		far = "deaf"
	}
	takes := float64(b.IntN(25)) / 100
	return b.addNode("exec", fmt.Sprintf(`, command: [sh, task.sh], env: {IDX: %q, FAILS: "%d", FAR: "%s", TAKES: "%.2f"}%s%s`,
		index, fails, far, takes, again, more))
}

// addLast adds the node of `finally`, which runs at each end of the run.
func (b *builder) addLast() string {
	return b.addNode("exec", `, command: [sh, task.sh], env: {IDX: "finally", FAILS: "0", FAR: "no", TAKES: "0.05"}`+again)
}

func (b *builder) addWork(from string) string {
	id := b.addExec("-", `, writes: {log: "[output]"}`)
	b.addEdge(from, id, "")
	return id
}

func (b *builder) addEach(from string) string {
	id := b.addExec("{{ index }}", fmt.Sprintf(`, each: "1..%d", max_concurrency: %d, writes: {log: "output"}`, 2+b.IntN(4), 1+b.IntN(3)))
	b.addEdge(from, id, "")
	return id
}

// addFanOut adds branches that join again.
func (b *builder) addFanOut(from string) string {
	join := b.addNode("pass", ", join: {wait: all}")
	for range 2 + b.IntN(2) {
		branch := []func(string) string{b.addWork, b.addWork, b.addEach, b.addWait, b.addHuman, b.addUnanswered, b.addGraphNode}
		if b.inner {
			branch = branch[:4]
		}
		last := branch[b.IntN(len(branch))](from)
		for b.IntN(3) == 0 {
			last = b.addWork(last)
		}
		b.addEdge(last, join, "")
	}
	return join
}

func (b *builder) addLoop(from string) string {
	first := b.addNode("set", `, set: {n: n + 1}`)
	b.addEdge(from, first, "")
	last := b.addWork(first)
	if b.IntN(2) == 0 {
		last = b.addEach(last)
	}
	out := b.addNode("set", `, set: {n: n}`)
	b.addEdge(last, out, "")
	b.addEdge(out, first, `, when: "n % 3 != 0"`)
	next := b.addNode("set", `, set: {n: "0"}`)
	b.addEdge(out, next, "")
	return next
}

// addHuman adds a question that another process answers.
func (b *builder) addHuman(from string) string {
	key := fmt.Sprintf("answer%d", b.n)
	id := b.addNode("human", `, prompt: "say", writes: [`+key+`]`)
	b.keys, b.people = append(b.keys, key), append(b.people, id+"="+key)
	b.addEdge(from, id, "")
	return id
}

// addUnanswered adds a question that nobody answers.
func (b *builder) addUnanswered(from string) string {
	id := b.addNode("human", fmt.Sprintf(`, prompt: "anybody?", timeout: %dms, default: late, writes: {log: "[output]"}`, 50+b.IntN(400)))
	b.addEdge(from, id, "")
	return id
}

func (b *builder) addWait(from string) string {
	id := b.addNode("wait", fmt.Sprintf(", for: %dms", 50+b.IntN(400)))
	b.addEdge(from, id, "")
	return id
}

// addGraphNode adds a node that runs the subgraph, once or for some elements.
func (b *builder) addGraphNode(from string) string {
	more := `, writes: {log: "output.state.log"}`
	if b.IntN(3) == 0 {
		more = `, each: "[1, 2]", writes: {log: "map(output, .state.log)"}`
	}
	id := b.addNode("graph", `, graph: "#sub"`+more)
	b.addEdge(from, id, "")
	return id
}
