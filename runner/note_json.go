// The machine's notes as JSON lines, without events in between: this runs
// several times a step, and most of a line is the same as in a line before.

package runner

import (
	"slices"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
)

// encoder remembers the pieces that lines share. The zero encoder is ready.
type encoder struct {
	plan     *machine.Plan
	maxSteps int
	nodes    []*nodePieces // of the plan, made when first needed

	seq   int
	stamp stamp

	// output is the text of the last output, which stands in the lines of its
	// completion and of its resolution.
	output     []byte
	outputFrom *driver
	outputStep int32

	candidates []machine.Candidate
}

// nodePieces is what the lines of a node say each time; its runs with the first
// attempt, which most are, in one piece.
type nodePieces struct {
	alone     []byte // `,"nodes":["a"]}`: it is the only node of a superstep
	id        []byte // `,"node":"a"`
	visit     []byte // `,"node":"a","visit":`
	kind      []byte // `,"kind":"set"`
	started   []byte // `,"attempt":1,"kind":"set"}`
	completed []byte // `,"attempt":1,…,"output":`: it took no time
	resolving []byte // `,"attempt":1,…,"output":`
	resolved  []resolution
}

// resolution is the end of a resolution's line, for the edges that were taken.
type resolution struct {
	taken           []machine.Taken
	skipped, failed bool
	text            []byte
}

// Limits of what is kept of a node's resolutions: one with more seldom repeats.
const (
	maxResolutions = 8
	maxResolution  = 8 << 10 // bytes
)

// notes appends a line for each of the machine's notes, as publish and
// Event.AppendJSON together would.
func (enc *encoder) notes(dst []byte, d *driver, notes []machine.Note, at int64) []byte {
	if enc.plan != d.plan || enc.maxSteps != d.state.MaxSteps() {
		enc.plan, enc.maxSteps = d.plan, d.state.MaxSteps()
		enc.nodes = make([]*nodePieces, d.plan.NodeCount())
	}
	enc.stamp.set(at, d.opts.RunID)
	for i := range notes {
		d.seq++
		enc.seq = int(d.seq)
		n := &notes[i]
		switch n.Kind {
		case machine.NoteSuperstepStarted:
			dst = enc.appendNodes(append(dst, `{"event":"superstep_started","seq":`...), d.state, n)
		case machine.NoteSuperstepCompleted:
			dst = enc.appendNodes(append(dst, `{"event":"superstep_completed","seq":`...), d.state, n)
		case machine.NoteStateUpdated:
			dst = enc.appendSuperstep(append(dst, `{"event":"state_updated","seq":`...), n)
			dst = appendPairs(append(dst, `,"delta":`...), d.state.Delta(n))
			dst = append(dst, '}', '\n')
		case machine.NoteNodeStarted:
			dst = enc.appendStarted(dst, n)
		case machine.NoteNodeCompleted:
			dst = enc.appendCompleted(dst, d, n, time.Duration(at-n.Began))
		case machine.NoteEdgesResolved:
			dst = enc.appendResolved(dst, d, n)
		default:
			dst = enc.appendRare(dst, n, time.Duration(at-n.Began))
		}
	}
	return dst
}

// appendSuperstep appends to the head of a line what says when it was.
func (enc *encoder) appendSuperstep(dst []byte, n *machine.Note) []byte {
	return appendInt(append(appendInt(dst, enc.seq), enc.stamp.superstep...), int(n.Superstep))
}

// appendNodes appends to the head of a superstep's line the rest.
func (enc *encoder) appendNodes(dst []byte, s *machine.State, n *machine.Note) []byte {
	dst = enc.appendSuperstep(dst, n)
	taken := s.Taken(n)
	if len(taken) == 1 {
		return append(dst, enc.piecesOf(taken[0].To).alone...)
	}
	return append(enc.appendTargets(append(dst, `,"nodes":`...), taken), '}', '\n')
}

// appendTask appends to the head of a node's line what places it in the run, up
// to the visit.
func (enc *encoder) appendTask(dst []byte, n *machine.Note, pieces *nodePieces) []byte {
	if n.Step == 0 || n.Visit == 0 {
		return enc.appendRefused(dst, n, pieces)
	}
	dst = appendInt(append(appendInt(dst, enc.seq), enc.stamp.step...), int(n.Step))
	dst = appendInt(append(dst, `,"superstep":`...), int(n.Superstep))
	dst = appendTextKey(dst, `,"branch":`, n.Branch)
	return appendInt(append(dst, pieces.visit...), int(n.Visit))
}

// appendRefused does the same for an execution that a limit did not let begin.
func (enc *encoder) appendRefused(dst []byte, n *machine.Note, pieces *nodePieces) []byte {
	dst = append(appendInt(dst, enc.seq), enc.stamp.bare...)
	dst = appendIntKey(dst, `,"step":`, int(n.Step))
	dst = appendIntKey(dst, `,"superstep":`, int(n.Superstep))
	dst = appendTextKey(dst, `,"branch":`, n.Branch)
	return appendIntKey(append(dst, pieces.id...), `,"visit":`, int(n.Visit))
}

func (enc *encoder) appendStarted(dst []byte, n *machine.Note) []byte {
	pieces := enc.piecesOf(n.Node)
	dst = enc.appendTask(append(dst, `{"event":"node_started","seq":`...), n, pieces)
	if n.Attempt == 1 {
		return append(dst, pieces.started...)
	}
	dst = appendIntKey(dst, `,"attempt":`, int(n.Attempt))
	return append(append(dst, pieces.kind...), '}', '\n')
}

func (enc *encoder) appendCompleted(dst []byte, d *driver, n *machine.Note, took time.Duration) []byte {
	pieces := enc.piecesOf(n.Node)
	dst = enc.appendTask(append(dst, `{"event":"node_completed","seq":`...), n, pieces)
	if n.Attempt == 1 && took < time.Millisecond && took >= 0 && !n.Cached && !n.Skipped {
		dst = append(dst, pieces.completed...)
	} else {
		dst = appendIntKey(dst, `,"attempt":`, int(n.Attempt))
		dst = appendCompleted(appendDuration(append(dst, pieces.kind...), took), n.Cached, n.Skipped)
	}
	start := len(dst)
	dst = appendValue(dst, n.Output)
	enc.output = append(enc.output[:0], dst[start:]...)
	enc.outputFrom, enc.outputStep = d, n.Step
	return append(dst, '}', '\n')
}

func (enc *encoder) appendResolved(dst []byte, d *driver, n *machine.Note) []byte {
	pieces := enc.piecesOf(n.Node)
	dst = enc.appendTask(append(dst, `{"event":"edges_resolved","seq":`...), n, pieces)
	if n.Attempt == 1 {
		dst = append(dst, pieces.resolving...)
	} else {
		dst = enc.appendResolving(appendIntKey(dst, `,"attempt":`, int(n.Attempt)))
	}
	if n.Failed || enc.outputFrom != d || enc.outputStep != n.Step {
		dst = appendValue(dst, n.Output)
	} else {
		dst = append(dst, enc.output...)
	}
	return enc.appendResolution(dst, d.state, n, pieces)
}

func (enc *encoder) appendResolving(dst []byte) []byte {
	return append(appendIntKey(dst, `,"max_steps":`, enc.maxSteps), `,"output":`...)
}

// appendResolution appends where a node's execution led, and why.
func (enc *encoder) appendResolution(dst []byte, s *machine.State, n *machine.Note, pieces *nodePieces) []byte {
	taken := s.Taken(n)
	for i := range pieces.resolved {
		r := &pieces.resolved[i]
		if r.skipped == n.Skipped && r.failed == n.Failed && slices.Equal(r.taken, taken) && n.Lasting() {
			return append(dst, r.text...)
		}
	}
	start := len(dst)
	dst = enc.appendTargets(append(dst, `,"next":`...), taken)
	enc.candidates = s.AppendCandidates(enc.candidates[:0], n)
	dst = append(appendCandidates(dst, enc.candidates), '}', '\n')
	if n.Lasting() && len(pieces.resolved) < maxResolutions && len(dst)-start <= maxResolution {
		pieces.resolved = append(pieces.resolved, resolution{
			taken: slices.Clone(taken), skipped: n.Skipped, failed: n.Failed, text: slices.Clone(dst[start:]),
		})
	}
	return dst
}

// appendRare appends a line of a kind that quick nodes do not have.
func (enc *encoder) appendRare(dst []byte, n *machine.Note, took time.Duration) []byte {
	pieces := enc.piecesOf(n.Node)
	dst = append(append(append(dst, `{"event":"`...), noteType(n.Kind)...), `","seq":`...)
	dst = appendIntKey(enc.appendTask(dst, n, pieces), `,"attempt":`, int(n.Attempt))
	switch n.Kind {
	case machine.NoteNodeFailed:
		dst = appendError(appendDuration(append(dst, pieces.kind...), took), n.Failure)
	case machine.NoteNodeRetrying:
		dst = appendRetry(dst, n.Retry.MaxAttempts, n.Retry.Delay, n.Failure)
	case machine.NoteNodeEmitted:
		dst = appendSaid(dst, emitted(n.Output))
	}
	return append(dst, '}', '\n')
}

func (enc *encoder) appendTargets(dst []byte, taken []machine.Taken) []byte {
	dst = append(dst, '[')
	for i := range taken {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, enc.plan.NodeID(taken[i].To))
	}
	return append(dst, ']')
}

// piecesOf returns what the lines of a node say each time.
func (enc *encoder) piecesOf(node int32) *nodePieces {
	if p := enc.nodes[node]; p != nil {
		return p
	}
	id, kind := enc.plan.NodeID(node), enc.plan.NodeKind(node)
	p := &nodePieces{
		alone: append(appendNames([]byte(`,"nodes":`), []string{id}), '}', '\n'),
		id:    appendTextKey(nil, `,"node":`, id),
		kind:  appendTextKey(nil, `,"kind":`, kind),
	}
	p.visit = append(slices.Clone(p.id), `,"visit":`...)
	first := func() []byte { return []byte(`,"attempt":1`) }
	p.started = append(append(first(), p.kind...), '}', '\n')
	p.completed = appendCompleted(appendDuration(append(first(), p.kind...), 0), false, false)
	p.resolving = enc.appendResolving(first())
	enc.nodes[node] = p
	return p
}

// stamp is what says the time and the run, in the forms that lines begin with.
// Mostly only the microseconds differ from the line before.
type stamp struct {
	at    int64 // Unix nanoseconds
	runID string
	micro int // where in the texts the microseconds stand

	bare      []byte // `,"time":…,"run_id":…`
	step      []byte // and `,"step":`
	superstep []byte // or `,"superstep":`
}

// set sets the time and the run of the lines that follow.
func (s *stamp) set(at int64, runID string) {
	const second = int64(time.Second)
	if at/second != s.at/second || runID != s.runID || at <= 0 {
		s.bare = appendTime(append(s.bare[:0], `,"time":"`...), time.Unix(0, at))
		s.micro = len(s.bare) - len("000000Z")
		s.bare = appendString(append(s.bare, `","run_id":`...), runID)
		s.step = append(append(s.step[:0], s.bare...), `,"step":`...)
		s.superstep = append(append(s.superstep[:0], s.bare...), `,"superstep":`...)
	} else if at != s.at {
		var buffer [8]byte
		digits := appendDigits(buffer[:0], int(at%second/1000), len("000000"))
		copy(s.bare[s.micro:], digits)
		copy(s.step[s.micro:], digits)
		copy(s.superstep[s.micro:], digits)
	}
	s.at, s.runID = at, runID
}
