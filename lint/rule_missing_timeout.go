// missing-timeout: a node that waits for others has no time limit.

package lint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/spec"
)

func missingTimeout() Rule {
	return Rule{
		Name: "missing-timeout", Group: "limits", Severity: spec.Warning, needs: needNode,
		Summary: "a node that runs a program, a request or a model has no time limit",
		Doc:     "Programs, servers and models may never answer. Without a timeout on the node, a limits.node_timeout for every node, or a limits.timeout for the run, such a node can hang for ever.",
		Bad: `graphrun: v1
name: fetch
start: get
nodes:
  get: {kind: http, url: "https://example.org/"}
edges:
  - {from: get, to: END}
`,
		change: []string{`org/"`, `org/", timeout: 10s`},
		check:  checkMissingTimeout,
	}
}

func checkMissingTimeout(f *facts) {
	limits := f.graph.Limits
	if limits.NodeTimeout > 0 || limits.Timeout > 0 || limits.StepTimeout > 0 || f.graph.Faulty(limits.Span) {
		return
	}
	for _, n := range f.graph.Nodes {
		switch n.Kind.Value {
		case "agent", "exec", "http", "llm":
			if n.Timeout == 0 && !f.graph.Faulty(n.Span) {
				f.report(n.ID.Span, "%q has no time limit; give it a timeout, or set limits.node_timeout or limits.timeout", n.ID.Value)
			}
		}
	}
}

// onceForFile makes one finding of those of a file that nobody silenced, since
// one line mends them all.
func onceForFile(found spec.Diagnostics) spec.Diagnostics {
	first := map[*spec.File]int{}
	names := map[*spec.File][]string{}
	kept := found[:0]
	for _, d := range found.Sort() {
		if d.Rule != "missing-timeout" {
			kept = append(kept, d)
			continue
		}
		name := strconv.Quote(strings.Trim(string(d.File.Src[d.Span.From:d.Span.To]), `"'`))
		names[d.File] = append(names[d.File], name)
		i, known := first[d.File]
		if !known {
			first[d.File] = len(kept)
			kept = append(kept, d)
			continue
		}
		kept[i].Message = inWords(names[d.File]) + " have no time limit; set limits.node_timeout or limits.timeout, or give each a timeout"
		kept[i].Related = append(kept[i].Related, spec.Related{File: d.File, Span: d.Span, Message: "this has none either"})
	}
	return kept
}

// inWords lists some words; of many the first ones.
func inWords(words []string) string {
	const most = 8
	if more := len(words) - most; more > 1 {
		words = append(slices.Clip(words[:most]), fmt.Sprintf("%d more", more))
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
