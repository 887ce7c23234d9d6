// What a program that failed said last, in the trace of its run.

package runview

import (
	"strings"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
)

// ending is the line of a node's end, and below it what a program that failed said
// last. Of one that leads nowhere that comes with the end of the run, which tells
// most of them itself.
func (t *Tracer) ending(f finished, route string) []string {
	out := []string{t.line(f, route)}
	switch said := SaidLast(f.failure, t.colors); {
	case len(said) == 0:
	case route == "" && !f.finally:
		t.unsaid = append(t.unsaid, f)
	default:
		out = append(out, said...)
	}
	return out
}

// unsaidLines are what programs said that failed and led nowhere, but for the one
// whose failure is the run's.
func (t *Tracer) unsaidLines(r *runner.Result) []string {
	var out []string
	for _, f := range t.unsaid {
		if r != nil && r.Error != nil && r.Error.Node == f.node {
			continue
		}
		out = append(out, t.columns.start(t.colors, f.step, f.node, f.visit)+t.colors.Bad("said last"))
		out = append(out, SaidLast(f.failure, t.colors)...)
	}
	t.unsaid = nil
	return out
}

// SaidLast are the last lines of what a program that failed wrote to its streams,
// unless its failure's message says them already.
func SaidLast(f *machine.Failure, c Colors) []string {
	if f == nil {
		return nil
	}
	var out []string
	for _, stream := range [...]string{"stdout", "stderr"} {
		text, _ := f.Details[stream].(string)
		text = strings.TrimSpace(text)
		if text == "" || strings.HasSuffix(f.Message, text) {
			continue
		}
		out = append(out, lastLines(text, "       "+c.Quiet(stream+" | "))...)
	}
	return out
}
