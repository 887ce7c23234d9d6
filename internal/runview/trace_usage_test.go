package runview

import (
	"strings"
	"testing"

	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
)

func TestTraceTellsUsage(t *testing.T) {
	cent, none := 0.0123, 0.0
	call := func(cost *float64) *runner.Event {
		return &runner.Event{Type: runner.LLMUsage, Node: "write", Usage: &machine.Usage{Calls: 1, InputTokens: 10, OutputTokens: 5, Model: "m", CostUSD: cost}}
	}
	for name, c := range map[string]struct {
		calls []*runner.Event
		want  string
	}{
		"nothing":       {nil, "→ publish"},
		"one call":      {[]*runner.Event{call(&cent)}, "→ publish  m 1 call, 10+5 tokens, $0.0123"},
		"two":           {[]*runner.Event{call(&cent), call(&cent)}, "→ publish  m 2 calls, 20+10 tokens, $0.0246"},
		"free":          {[]*runner.Event{call(&none)}, "→ publish  m 1 call, 10+5 tokens"},
		"unknown price": {[]*runner.Event{call(&cent), call(nil)}, "→ publish  m 2 calls, 20+10 tokens, price unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			trace := NewTracer(traceGraph(), terminal.NewColors(false))
			var lines []string
			for _, e := range append(c.calls,
				&runner.Event{Type: runner.NodeCompleted, Step: 1, Node: "write", Visit: 1},
				&runner.Event{Type: runner.EdgesResolved, Step: 1, Node: "write", Visit: 1, Next: []string{"publish"}},
			) {
				lines = append(lines, trace.Lines(e)...)
			}
			if len(lines) != 1 || !strings.HasSuffix(lines[0], c.want) {
				t.Errorf("%q", lines)
			}
		})
	}
}
