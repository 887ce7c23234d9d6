//go:build linux

// Random flows whose end is the same however often they are disturbed.

package chaos

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// task is the program of every exec node. It holds a lock while it lives, and keeps
// a log of what it does; a second one at work for the same key tells on itself.
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
	// people are the nodes that somebody answers.
	people []string
	// alone says that only one run of the flow may be at work at once.
	alone bool
	// last is the node of its finally, which runs at each end; "": it has none.
	last string
}

// builder writes a flow as a sequence of blocks, each with a way in and a way out.
type builder struct {
	*rand.Rand
	nodes, edges strings.Builder
	keys         []string
	n            int
	people       []string
	// inner says that the flow is the subgraph of another.
	inner bool
}

// newFlow makes a flow of a few blocks.
func newFlow(random *rand.Rand) *flow {
	b := &builder{Rand: random}
	first := b.node("pass", "")
	last := first
	for range 3 + b.IntN(4) {
		last = b.block(last)
	}
	b.edge(last, "END", "")
	sub := b.subgraph()
	keys := "  log: {type: array, reducer: append}\n  n: {type: integer, default: 0}\n"
	for _, key := range b.keys {
		keys += "  " + key + ": {}\n"
	}
	alone, last, more := b.IntN(4) == 0, "", ""
	if alone {
		more += "concurrency: {group: \"'one'\", limit: 1}\n"
	}
	if b.IntN(4) == 0 {
		last = b.last()
		more += "finally: " + last + "\n"
	}
	text := "graphrun: v1\nname: chaos\nstart: " + first + "\nlimits: {max_steps: 1000, node_timeout: 5m}\n" + more +
		"state:\n" + keys + "nodes:\n" + b.nodes.String() + "edges:\n" + b.edges.String() + sub
	return &flow{text: text, people: b.people, alone: alone, last: last}
}

// subgraph is a graph that others run.
func (b *builder) subgraph() string {
	inner := &builder{Rand: b.Rand, inner: true}
	first := inner.node("pass", "")
	last := first
	for range 1 + b.IntN(2) {
		last = []func(string) string{inner.work, inner.each, inner.fan, inner.wait}[b.IntN(4)](last)
	}
	inner.edge(last, "END", "")
	indent := func(s string) string { return strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n    ") }
	return "graphs:\n  sub:\n    name: sub\n    start: " + first + "\n    state:\n      log: {type: array, reducer: append}\n      n: {type: integer, default: 0}\n" +
		"    nodes:\n    " + indent(inner.nodes.String()) + "\n    edges:\n    " + indent(inner.edges.String()) + "\n"
}

func (b *builder) node(kind, more string) string {
	b.n++
	id := fmt.Sprintf("n%d", b.n)
	fmt.Fprintf(&b.nodes, "  %s: {kind: %s%s}\n", id, kind, more)
	return id
}

func (b *builder) edge(from, to, more string) {
	fmt.Fprintf(&b.edges, "  - {from: %s, to: %s%s}\n", from, to, more)
}

// block adds something after a node and returns where it ends.
func (b *builder) block(from string) string {
	blocks := []func(string) string{b.work, b.each, b.fan, b.fan, b.loop, b.human, b.absent, b.wait, b.runGraph}
	return blocks[b.IntN(len(blocks))](from)
}

// again is how often a program is tried: one that is killed is not what the run ends by.
const again = `, retry: {max_attempts: 8, initial_interval: 30ms, max_interval: 60ms}`

// exec adds a program. index is the expression of what tells elements apart.
func (b *builder) exec(index, more string) string {
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
	return b.node("exec", fmt.Sprintf(`, command: [sh, task.sh], env: {IDX: %q, FAILS: "%d", FAR: "%s", TAKES: "%.2f"}%s%s`,
		index, fails, far, takes, again, more))
}

// last adds a program that runs at each end of the run.
func (b *builder) last() string {
	return b.node("exec", `, command: [sh, task.sh], env: {IDX: "finally", FAILS: "0", FAR: "no", TAKES: "0.05"}`+again)
}

func (b *builder) work(from string) string {
	id := b.exec("-", `, writes: {log: "[output]"}`)
	b.edge(from, id, "")
	return id
}

func (b *builder) each(from string) string {
	id := b.exec("{{ index }}", fmt.Sprintf(`, each: "1..%d", max_concurrency: %d, writes: {log: "output"}`, 2+b.IntN(4), 1+b.IntN(3)))
	b.edge(from, id, "")
	return id
}

// fan adds branches that meet again.
func (b *builder) fan(from string) string {
	join := b.node("pass", ", join: {wait: all}")
	for range 2 + b.IntN(2) {
		branch := []func(string) string{b.work, b.work, b.each, b.wait, b.human, b.absent, b.runGraph}
		if b.inner {
			branch = branch[:4]
		}
		last := branch[b.IntN(len(branch))](from)
		for b.IntN(3) == 0 {
			last = b.work(last)
		}
		b.edge(last, join, "")
	}
	return join
}

func (b *builder) loop(from string) string {
	first := b.node("set", `, set: {n: n + 1}`)
	b.edge(from, first, "")
	last := b.work(first)
	if b.IntN(2) == 0 {
		last = b.each(last)
	}
	out := b.node("set", `, set: {n: n}`)
	b.edge(last, out, "")
	b.edge(out, first, `, when: "n % 3 != 0"`)
	next := b.node("set", `, set: {n: "0"}`)
	b.edge(out, next, "")
	return next
}

// human adds a question that is answered from elsewhere.
func (b *builder) human(from string) string {
	key := fmt.Sprintf("answer%d", b.n)
	id := b.node("human", `, prompt: "say", writes: [`+key+`]`)
	b.keys, b.people = append(b.keys, key), append(b.people, id+"="+key)
	b.edge(from, id, "")
	return id
}

// absent adds a question that nobody answers.
func (b *builder) absent(from string) string {
	id := b.node("human", fmt.Sprintf(`, prompt: "anybody?", timeout: %dms, default: late, writes: {log: "[output]"}`, 50+b.IntN(400)))
	b.edge(from, id, "")
	return id
}

func (b *builder) wait(from string) string {
	id := b.node("wait", fmt.Sprintf(", for: %dms", 50+b.IntN(400)))
	b.edge(from, id, "")
	return id
}

// runGraph adds a node that runs the subgraph, once or for some elements.
func (b *builder) runGraph(from string) string {
	more := `, writes: {log: "output.state.log"}`
	if b.IntN(3) == 0 {
		more = `, each: "[1, 2]", writes: {log: "map(output, .state.log)"}`
	}
	id := b.node("graph", `, graph: "#sub"`+more)
	b.edge(from, id, "")
	return id
}
