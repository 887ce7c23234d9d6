// The machine's notes as JSON lines, without events in between.

package runner

import (
	"time"

	"github.com/graphrun/graphrun/runner/machine"
)

// notes appends a line for each of the machine's notes, as publish and append
// together would, but without an Event in between: this runs several times a
// step.
func (enc *encoder) notes(dst []byte, d *driver, notes []machine.Note, at int64) []byte {
	maxSteps := d.state.MaxSteps()
	for i := range notes {
		n := &notes[i]
		d.seq++
		dst = append(dst, noteHead(n.Kind)...)
		dst = enc.appendStamp(dst, d.seq, at, d.opts.RunID)
		if n.Node == "" {
			dst = enc.appendSuperstep(dst, n.Superstep)
		} else {
			dst = enc.appendTask(dst, taskFields{n.Step, n.Superstep, n.Visit, n.Attempt, n.Node, ""})
		}
		switch n.Kind {
		case machine.NoteSuperstepStarted, machine.NoteSuperstepCompleted:
			dst = appendNames(append(dst, `,"nodes":`...), n.Nodes)
		case machine.NoteNodeRetrying:
			dst = appendRetry(dst, n.MaxAttempts, n.Delay, n.Failure)
		case machine.NoteNodeStarted:
			dst = enc.appendKind(dst, n.NodeKind)
		case machine.NoteNodeFailed:
			dst = appendError(enc.appendDuration(dst, n.NodeKind, time.Duration(at-n.Began)), n.Failure)
		case machine.NoteNodeCompleted:
			dst = enc.appendDuration(dst, n.NodeKind, time.Duration(at-n.Began))
			dst = appendCompleted(dst, n.Cached, n.Skipped, n.Output)
		case machine.NoteEdgesResolved:
			dst = appendResolved(dst, maxSteps, n.Output, n.Nodes)
			for j, r := range n.Results {
				dst = enc.appendResult(appendComma(dst, j), d.plan, r)
			}
			dst = append(dst, ']')
		case machine.NoteStateUpdated:
			dst = appendPairs(append(dst, `,"delta":`...), n.Delta)
		case machine.NoteNodeEmitted:
			dst = appendSaid(dst, emitted(n.Output))
		}
		dst = append(dst, '}', '\n')
	}
	return dst
}

// edgePieces are the last encoded forms of an edge: did not fire, fired.
type edgePieces [2]struct {
	of   machine.EdgeResult
	text []byte
}

// appendResult appends what became of an edge; its last forms are kept.
func (enc *encoder) appendResult(dst []byte, plan *machine.Plan, r machine.EdgeResult) []byte {
	if !r.Fixed() {
		c := plan.Candidate(r)
		return appendCandidate(dst, &c)
	}
	if enc.plan != plan {
		enc.plan, enc.edges = plan, enc.edges[:0]
	}
	if r.Edge >= len(enc.edges) {
		enc.edges = append(enc.edges, make([]edgePieces, r.Edge+1-len(enc.edges))...)
	}
	piece := &enc.edges[r.Edge][0]
	if r.Fired {
		piece = &enc.edges[r.Edge][1]
	}
	if piece.of != r || piece.text == nil {
		c := plan.Candidate(r)
		piece.of, piece.text = r, appendCandidate(piece.text[:0], &c)
	}
	return append(dst, piece.text...)
}

// noteHead is the beginning of a note's line.
func noteHead(kind machine.NoteKind) string {
	switch kind {
	case machine.NoteSuperstepStarted:
		return `{"event":"superstep_started",`
	case machine.NoteSuperstepCompleted:
		return `{"event":"superstep_completed",`
	case machine.NoteNodeStarted:
		return `{"event":"node_started",`
	case machine.NoteNodeCompleted:
		return `{"event":"node_completed",`
	case machine.NoteEdgesResolved:
		return `{"event":"edges_resolved",`
	case machine.NoteStateUpdated:
		return `{"event":"state_updated",`
	}
	return `{"event":"` + string(noteType(kind)) + `",`
}
