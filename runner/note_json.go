// The machine's notes as JSON lines, without events in between: this runs
// several times a step, and most of a line is the same as in a line before.

package runner

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
)

// encoder remembers the pieces that lines share. The zero encoder is ready.
type encoder struct {
	run      *driver // whose notes these are
	plan     *machine.Plan
	maxSteps int
	resolved []byte        // `,"max_steps":…,"output":`
	nodes    []*nodePieces // of the plan, made when first needed

	line, step, superstep, value counter

	figures figures

	stamp  stamp
	inStep []byte // `,"superstep":…`, of superstep placed
	placed int32
	task   taskPlace
	place  []byte // from `,"step":…` to `,"attempt":…`

	// output is the text of the last output, which stands in the lines of its
	// completion and of its resolution.
	output     []byte
	outputStep int32
	// texts are where in the last lines the delta and the outputs of a left and an
	// entered node begin.
	texts [3]int

	key     string // of the last object of one key
	keyText []byte // `{"key":`

	candidates []machine.Candidate
}

// taskPlace tells the attempts of a run apart. Steps do but for executions that
// a limit refused, which have none.
type taskPlace struct{ step, superstep, node, visit, attempt int32 }

// nodePieces is what the lines of a node say each time.
type nodePieces struct {
	alone     []byte // `,"nodes":["a"]}`: it is the only node of a superstep
	id        []byte // `,"node":"a"`
	visits    counter
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
	step            form // of a node so resolved
}

// Limits of what is kept of a node's resolutions: one with more seldom repeats.
const (
	maxResolutions = 8
	maxResolution  = 8 << 10 // bytes
)

// notes appends a line for each of the machine's notes, as publish and
// Event.AppendJSON together would.
func (enc *encoder) notes(dst []byte, d *driver, notes []machine.Note, at int64) []byte {
	if enc.run != d {
		enc.begins(d)
	}
	enc.stamp.set(at)
	if !d.checkpoints && len(notes) == 2 && notes[0].Kind == machine.NoteLeft && notes[1].Kind == machine.NoteEntered {
		return enc.appendStep(dst, d, &notes[0], &notes[1], at)
	}
	for i := range notes {
		n := &notes[i]
		switch n.Kind {
		case machine.NoteEntered:
			dst = enc.appendEntered(dst, d, n, at)
		case machine.NoteLeft:
			dst = enc.appendLeft(dst, d, n)
		case machine.NoteSuperstepStarted:
			dst = enc.begin(dst, d, `{"event":"superstep_started","seq":`)
			dst = enc.appendNodes(dst, n, d.state.Taken(n))
		case machine.NoteSuperstepCompleted:
			dst = enc.begin(dst, d, `{"event":"superstep_completed","seq":`)
			dst = enc.appendCheckpoint(enc.appendNodes(dst, n, d.state.Taken(n)), d, n)
		case machine.NoteStateUpdated:
			dst = enc.appendUpdated(dst, d, n)
		case machine.NoteNodeStarted:
			dst = append(enc.begin(dst, d, `{"event":"node_started","seq":`), enc.placeOf(n)...)
			dst = append(dst, enc.piecesOf(n.Node).started...)
		case machine.NoteNodeCompleted:
			dst = append(enc.begin(dst, d, `{"event":"node_completed","seq":`), enc.placeOf(n)...)
			dst = enc.appendCompleted(dst, n, at)
		case machine.NoteEdgesResolved:
			dst = append(enc.begin(dst, d, `{"event":"edges_resolved","seq":`), enc.placeOf(n)...)
			dst = enc.appendResolved(dst, d, n)
		default:
			dst = enc.begin(dst, d, `{"event":"`+string(noteType(n.Kind))+`","seq":`)
			dst = enc.appendRare(append(dst, enc.placeOf(n)...), n, time.Duration(at-n.Began))
		}
	}
	return dst
}

// begins makes ready for another run.
func (enc *encoder) begins(d *driver) {
	if enc.plan != d.plan || enc.maxSteps != d.state.MaxSteps() {
		enc.plan, enc.maxSteps = d.plan, d.state.MaxSteps()
		enc.nodes = make([]*nodePieces, d.plan.NodeCount())
		enc.resolved = append(appendIntKey(enc.resolved[:0], `,"max_steps":`, enc.maxSteps), `,"output":`...)
	}
	enc.run, enc.task, enc.outputStep = d, taskPlace{}, 0
	enc.line, enc.step, enc.superstep, enc.value = newCounter(), newCounter(), newCounter(), newCounter()
	enc.stamp = stamp{runID: d.opts.RunID, text: enc.stamp.text[:0], version: enc.stamp.version}
}

// begin begins the next line: head, its number, the time and the run.
func (enc *encoder) begin(dst []byte, d *driver, head string) []byte {
	d.seq++
	return append(appendInt(append(dst, head...), int(d.seq)), enc.stamp.text...)
}

// appendEntered appends the lines of a superstep's only node that ran at once.
func (enc *encoder) appendEntered(dst []byte, d *driver, n *machine.Note, at int64) []byte {
	pieces, place := enc.piecesOf(n.Node), enc.placeOf(n)
	dst = enc.begin(dst, d, `{"event":"superstep_started","seq":`)
	dst = append(append(dst, enc.superstepOf(n)...), pieces.alone...)
	dst = enc.begin(dst, d, `{"event":"node_started","seq":`)
	dst = append(append(dst, place...), pieces.started...)
	dst = enc.begin(dst, d, `{"event":"node_completed","seq":`)
	return enc.appendCompleted(append(dst, place...), n, at)
}

// appendLeft appends the lines of a superstep's only node that has been left.
func (enc *encoder) appendLeft(dst []byte, d *driver, n *machine.Note) []byte {
	if n.Updated {
		dst = enc.appendUpdated(dst, d, n)
	}
	dst = enc.begin(dst, d, `{"event":"edges_resolved","seq":`)
	dst = enc.appendResolved(append(dst, enc.placeOf(n)...), d, n)
	dst = enc.begin(dst, d, `{"event":"superstep_completed","seq":`)
	dst = append(append(dst, enc.superstepOf(n)...), enc.piecesOf(n.Node).alone...)
	return enc.appendCheckpoint(dst, d, n)
}

// appendCheckpoint appends that a superstep is kept, if it is.
func (enc *encoder) appendCheckpoint(dst []byte, d *driver, n *machine.Note) []byte {
	if !d.checkpoints {
		return dst
	}
	dst = appendIntKey(enc.begin(dst, d, `{"event":"checkpoint","seq":`), `,"step":`, d.steps())
	return append(append(dst, enc.superstepOf(n)...), '}', '\n')
}

func (enc *encoder) appendUpdated(dst []byte, d *driver, n *machine.Note) []byte {
	dst = append(enc.begin(dst, d, `{"event":"state_updated","seq":`), enc.superstepOf(n)...)
	dst = append(dst, `,"delta":`...)
	enc.texts[0] = len(dst)
	return append(enc.appendPairs(dst, d.state.Delta()), '}', '\n')
}

func (enc *encoder) superstepOf(n *machine.Note) []byte {
	if n.Superstep != enc.placed {
		enc.placed = n.Superstep
		enc.inStep = appendInt(append(enc.inStep[:0], `,"superstep":`...), int(n.Superstep))
	}
	return enc.inStep
}

// placeOf is what places a node's line in the run.
func (enc *encoder) placeOf(n *machine.Note) []byte {
	at := taskPlace{n.Step, n.Superstep, n.Node, n.Visit, n.Attempt}
	if at == enc.task {
		return enc.place
	}
	enc.task = at
	pieces := enc.piecesOf(n.Node)
	dst := enc.place[:0]
	dst = appendIntKey(dst, `,"step":`, int(n.Step)) // none: a limit did not let it begin
	dst = append(dst, enc.superstepOf(n)...)
	dst = append(appendTextKey(dst, `,"branch":`, n.Branch), pieces.id...)
	dst = appendIntKey(dst, `,"visit":`, int(n.Visit))
	enc.place = appendIntKey(dst, `,"attempt":`, int(n.Attempt))
	if enc.plan.IsFinal(n.Node) {
		enc.place = append(enc.place, `,"finally":true`...)
	}
	return enc.place
}

func (enc *encoder) appendNodes(dst []byte, n *machine.Note, nodes []machine.Taken) []byte {
	dst = append(dst, enc.superstepOf(n)...)
	if len(nodes) == 1 {
		return append(dst, enc.piecesOf(nodes[0].To).alone...)
	}
	return append(enc.appendTargets(append(dst, `,"nodes":`...), nodes), '}', '\n')
}

// quick reports whether a completion is as most are.
func (enc *encoder) quick(n *machine.Note, at int64) bool {
	took := time.Duration(at - n.Began)
	return took < time.Millisecond && took >= 0 && !n.Cached && !n.Skipped
}

func (enc *encoder) appendCompleted(dst []byte, n *machine.Note, at int64) []byte {
	if pieces := enc.piecesOf(n.Node); enc.quick(n, at) {
		dst = append(dst, pieces.completed...)
	} else {
		dst = appendDuration(append(dst, pieces.kind...), time.Duration(at-n.Began))
		dst = appendCompleted(dst, n.Cached, n.Skipped)
	}
	enc.texts[2] = len(dst)
	dst = enc.appendObject(dst, n.Output)
	enc.output = append(enc.output[:0], dst[enc.texts[2]:]...)
	enc.outputStep = n.Step
	return append(dst, '}', '\n')
}

func (enc *encoder) appendResolved(dst []byte, d *driver, n *machine.Note) []byte {
	dst = append(dst, enc.resolved...)
	enc.texts[1] = len(dst)
	if n.Failed || enc.outputStep != n.Step {
		dst = appendValue(dst, n.Output)
	} else {
		dst = append(dst, enc.output...)
	}
	return enc.appendResolution(dst, d.state, n)
}

// appendObject appends an output.
func (enc *encoder) appendObject(dst []byte, output any) []byte {
	if object, ok := output.(*machine.Object); ok {
		return enc.appendPairs(dst, object.Pairs)
	}
	return appendValue(dst, output)
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
	dst = append(dst, enc.keyText...)
	if n, ok := pairs[0].Value.(int); ok && uint(n) < mostFigure {
		dst = binary.LittleEndian.AppendUint64(dst, enc.value.word(uint32(n)))
		return append(dst[:len(dst)-7+int(enc.value.shift/8)], '}')
	}
	return append(appendValue(dst, pairs[0].Value), '}')
}

// known returns the resolution of a node that is like this one, nil if there is none.
func (enc *encoder) known(s *machine.State, n *machine.Note) *resolution {
	taken, pieces := s.Taken(n), enc.piecesOf(n.Node)
	for i := range pieces.resolved {
		r := &pieces.resolved[i]
		if r.skipped == n.Skipped && r.failed == n.Failed && slices.Equal(r.taken, taken) && n.Lasting() {
			return r
		}
	}
	return nil
}

// appendResolution appends where a node's execution led, and why.
func (enc *encoder) appendResolution(dst []byte, s *machine.State, n *machine.Note) []byte {
	if r := enc.known(s, n); r != nil {
		return append(dst, r.text...)
	}
	start, taken, pieces := len(dst), s.Taken(n), enc.piecesOf(n.Node)
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
		dst = appendRetry(dst, n.Retry, n.Failure)
	case machine.NoteNodeEmitted:
		dst = appendSaid(dst, emitted(n.Output, n.Failure))
	case machine.NoteJoinDropped:
		dst = appendSaid(dst, droppedSaid(n))
	case machine.NoteElementEnded:
		dst = appendSaid(dst, elementSaid(n))
	case machine.NoteAsked, machine.NoteAnswered:
		dst = appendSaid(dst, enc.run.asks(n))
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

		visits: newCounter(),
	}
	p.started = append(slices.Clone(p.kind), '}', '\n')
	p.completed = appendCompleted(appendDuration(slices.Clone(p.kind), 0), false, false)
	enc.nodes[node] = p
	return p
}
