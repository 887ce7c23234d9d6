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
	resolved []byte        // `,"max_steps":…,"output":`
	nodes    []*nodePieces // of the plan, made when first needed

	seq, step, superstep number

	stamp  stamp
	inStep []byte // `,"superstep":…`
	task   taskPlace
	place  []byte // from `,"step":…` to `,"attempt":…`

	// output is the text of the last output, which stands in the lines of its
	// completion and of its resolution.
	output     []byte
	outputFrom *driver
	outputStep int32

	key     string // of the last object of one key
	keyText []byte // `{"key":`

	candidates []machine.Candidate
}

// taskPlace tells the attempts of a run apart.
type taskPlace struct {
	step, superstep, node, visit, attempt int32

	branch string
}

// nodePieces is what the lines of a node say each time.
type nodePieces struct {
	alone     []byte // `,"nodes":["a"]}`: it is the only node of a superstep
	id        []byte // `,"node":"a"`
	visits    number
	kind      []byte // `,"kind":"set"`
	started   []byte // kind and the line's end
	completed []byte // `,"kind":"set",…,"output":`: it took no time
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
		enc.resolved = append(appendIntKey(enc.resolved[:0], `,"max_steps":`, enc.maxSteps), `,"output":`...)
	}
	enc.stamp.set(at, d.opts.RunID)
	for i := range notes {
		n := &notes[i]
		d.seq++
		enc.seq.set(int(d.seq))
		switch n.Kind {
		case machine.NoteSuperstepStarted:
			dst = enc.appendNodes(append(dst, `{"event":"superstep_started","seq":`...), n, d.state.Taken(n))
		case machine.NoteSuperstepCompleted:
			dst = enc.appendNodes(append(dst, `{"event":"superstep_completed","seq":`...), n, d.state.Taken(n))
		case machine.NoteStateUpdated:
			dst = append(enc.seq.append(append(dst, `{"event":"state_updated","seq":`...)), enc.stamp.text...)
			dst = append(append(dst, enc.superstepOf(n)...), `,"delta":`...)
			dst = append(enc.appendPairs(dst, d.state.Delta(n)), '}', '\n')
		case machine.NoteNodeStarted:
			dst = enc.appendPlace(append(dst, `{"event":"node_started","seq":`...), n)
			dst = append(dst, enc.piecesOf(n.Node).started...)
		case machine.NoteNodeCompleted:
			dst = enc.appendPlace(append(dst, `{"event":"node_completed","seq":`...), n)
			dst = enc.appendCompleted(dst, d, n, time.Duration(at-n.Began))
		case machine.NoteEdgesResolved:
			dst = enc.appendPlace(append(dst, `{"event":"edges_resolved","seq":`...), n)
			dst = enc.appendResolved(dst, d, n)
		default:
			dst = append(append(append(dst, `{"event":"`...), noteType(n.Kind)...), `","seq":`...)
			dst = enc.appendRare(enc.appendPlace(dst, n), n, time.Duration(at-n.Began))
		}
	}
	return dst
}

func (enc *encoder) superstepOf(n *machine.Note) []byte {
	if int(n.Superstep) != enc.superstep.n {
		enc.superstep.set(int(n.Superstep))
		enc.inStep = enc.superstep.append(append(enc.inStep[:0], `,"superstep":`...))
	}
	return enc.inStep
}

// appendPlace appends to the head of a node's line what places it in the run.
func (enc *encoder) appendPlace(dst []byte, n *machine.Note) []byte {
	if at := (taskPlace{n.Step, n.Superstep, n.Node, n.Visit, n.Attempt, n.Branch}); at != enc.task {
		enc.task = at
		enc.place = enc.placeOf(enc.place[:0], n)
	}
	return append(append(enc.seq.append(dst), enc.stamp.text...), enc.place...)
}

func (enc *encoder) placeOf(dst []byte, n *machine.Note) []byte {
	pieces := enc.piecesOf(n.Node)
	if n.Step != 0 { // else a limit did not let it begin
		enc.step.set(int(n.Step))
		dst = enc.step.append(append(dst, `,"step":`...))
	}
	dst = append(dst, enc.superstepOf(n)...)
	dst = append(appendTextKey(dst, `,"branch":`, n.Branch), pieces.id...)
	if n.Visit != 0 {
		pieces.visits.set(int(n.Visit))
		dst = pieces.visits.append(append(dst, `,"visit":`...))
	}
	return appendIntKey(dst, `,"attempt":`, int(n.Attempt))
}

// appendNodes appends to the head of a superstep's line the rest.
func (enc *encoder) appendNodes(dst []byte, n *machine.Note, nodes []machine.Taken) []byte {
	dst = append(append(enc.seq.append(dst), enc.stamp.text...), enc.superstepOf(n)...)
	if len(nodes) == 1 {
		return append(dst, enc.piecesOf(nodes[0].To).alone...)
	}
	return append(enc.appendTargets(append(dst, `,"nodes":`...), nodes), '}', '\n')
}

func (enc *encoder) appendCompleted(dst []byte, d *driver, n *machine.Note, took time.Duration) []byte {
	pieces := enc.piecesOf(n.Node)
	if took < time.Millisecond && took >= 0 && !n.Cached && !n.Skipped {
		dst = append(dst, pieces.completed...)
	} else {
		dst = appendCompleted(appendDuration(append(dst, pieces.kind...), took), n.Cached, n.Skipped)
	}
	start := len(dst)
	if object, ok := n.Output.(*machine.Object); ok {
		dst = enc.appendPairs(dst, object.Pairs)
	} else {
		dst = appendValue(dst, n.Output)
	}
	enc.output = append(enc.output[:0], dst[start:]...)
	enc.outputFrom, enc.outputStep = d, n.Step
	return append(dst, '}', '\n')
}

func (enc *encoder) appendResolved(dst []byte, d *driver, n *machine.Note) []byte {
	dst = append(dst, enc.resolved...)
	if n.Failed || enc.outputFrom != d || enc.outputStep != n.Step {
		dst = appendValue(dst, n.Output)
	} else {
		dst = append(dst, enc.output...)
	}
	return enc.appendResolution(dst, d.state, n, enc.piecesOf(n.Node))
}

// appendPairs appends an object; those with one key often have the same one.
func (enc *encoder) appendPairs(dst []byte, pairs []machine.KeyValue) []byte {
	if len(pairs) != 1 {
		return appendPairs(dst, pairs)
	}
	if pairs[0].Key != enc.key || len(enc.keyText) == 0 {
		enc.key = pairs[0].Key
		enc.keyText = append(appendString(append(enc.keyText[:0], '{'), enc.key), ':')
	}
	return append(appendValue(append(dst, enc.keyText...), pairs[0].Value), '}')
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

// appendRare appends the content of a line of a kind that quick nodes do not have.
func (enc *encoder) appendRare(dst []byte, n *machine.Note, took time.Duration) []byte {
	switch n.Kind {
	case machine.NoteNodeFailed:
		dst = append(dst, enc.piecesOf(n.Node).kind...)
		dst = appendError(appendDuration(dst, took), n.Failure)
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
	p.started = append(slices.Clone(p.kind), '}', '\n')
	p.completed = appendCompleted(appendDuration(slices.Clone(p.kind), 0), false, false)
	enc.nodes[node] = p
	return p
}

// stamp is what says the time and the run. Mostly only the microseconds differ
// from the line before: they are changed in place.
type stamp struct {
	second int64 // in Unix nanoseconds
	runID  string
	micro  int    // where in text the microseconds stand
	text   []byte // `,"time":…,"run_id":…`
}

// set sets the time (Unix nanoseconds) and the run of the lines that follow.
func (s *stamp) set(at int64, runID string) {
	since := at - s.second
	if since >= 0 && since < int64(time.Second) && runID == s.runID && len(s.text) > 0 {
		var buffer [8]byte
		copy(s.text[s.micro:], appendDigits(buffer[:0], int(uint32(since)/1000), len("000000")))
		return
	}
	when := time.Unix(0, at)
	s.second, s.runID = at-int64(when.Nanosecond()), runID
	s.text = appendTime(append(s.text[:0], `,"time":"`...), when)
	s.micro = len(s.text) - len("000000Z")
	s.text = appendString(append(s.text, `","run_id":`...), runID)
}
