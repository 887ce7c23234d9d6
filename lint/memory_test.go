package lint

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/internal/longtest"
	"github.com/graphrun/graphrun/spec"
)

// TestMemoryOfLargeGraphs bounds the memory of a node and its edge during a check. Every node and
// edge has a field for each key of the language: 80,000 of them take 210 MB.
func TestMemoryOfLargeGraphs(t *testing.T) {
	const most = 2_700 // bytes a node
	nodes := longtest.Choose(5_000, 20_000)
	var b strings.Builder
	b.WriteString(`{"graphrun": "v1", "name": "big", "start": "n0", "limits": {"max_steps": 100000}, "state": {"x": {"type": "integer", "default": 0}}, "nodes": {"n0": {"kind": "pass"}`)
	for i := range nodes {
		fmt.Fprintf(&b, `, "n%d": {"kind": "set", "set": {"x": "x + 1"}}`, i+1)
	}
	b.WriteString(`}, "edges": [`)
	for i := range nodes {
		fmt.Fprintf(&b, `{"from": "n%d", "to": "n%d"}, `, i, i+1)
	}
	fmt.Fprintf(&b, `{"from": "n%d", "to": "END"}]}`, nodes)
	src := []byte(b.String())
	before := heapBytes()
	g, found := spec.Parse("big.json", src, spec.Options{})
	facts, more := checkGraph(g, Options{})
	if found = append(found, more...); len(found) > 0 {
		t.Fatal(found[0].Message)
	}
	took := heapBytes() - before
	runtime.KeepAlive(facts)
	runtime.KeepAlive(src)
	if each := took / nodes; each > most {
		t.Errorf("a node and its edge take %d bytes; at most %d", each, most)
	} else {
		t.Logf("a node and its edge take %d bytes", each)
	}
}

func heapBytes() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// TestRareKeysAreOfOneNode checks that a key of one node or edge does not appear on the
// others.
func TestRareKeysAreOfOneNode(t *testing.T) {
	g, found := spec.Parse("flow.yaml", []byte(`graphrun: v1
name: rare
start: first
state: {list: {type: array, default: [1]}}
nodes:
  first: {kind: pass}
  second: {kind: pass, each: list, emit: {n: item}, description: the second}
  third: {kind: pass}
edges:
  - {from: first, to: second}
  - {from: second, to: third, label: onward, transform: list}
  - {from: third, to: END}
`), spec.Options{})
	bound, more := bind.Bind(g, nil, nil)
	if found = append(found, more...); len(found) > 0 {
		t.Fatal(found[0].Message)
	}
	for i, n := range g.Nodes {
		own := i == 1
		b := &bound.Nodes[i]
		if n.Each.IsSet() != own || n.Description.IsSet() != own || (b.Each != nil) != own || (len(b.Emit) > 0) != own {
			t.Errorf("%s: each %q, description %q", n.ID.Value, n.Each.Value, n.Description.Value)
		}
		if e := g.Edges[i]; e.Label.IsSet() != own || (e.Transform != nil) != own {
			t.Errorf("the edge from %s has the label %q", e.From.Value, e.Label.Value)
		}
	}
}
