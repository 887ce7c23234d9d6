// Forms: the lines of a step as they were the last time, with the places of what
// differs. Most steps of a run in circles are alike: one node is left and another
// entered, which runs at once. To fill a form in is a copy, a word for each
// number and a text for each output.

package runner

import (
	"bytes"
	"encoding/binary"

	"github.com/graphrun/graphrun/runner/machine"
)

// slot says which number stands in a blank.
type slot uint8

const (
	slotLine      slot = 0 // number of the first line; those of the others follow
	slotTime      slot = 6 // microseconds
	slotStep      slot = 7 // of the node that is left, then of the one that is entered
	slotSuperstep slot = 9
	slotVisit     slot = 11
	slots              = 16 // a power of two
)

// Limits of what a form is made for.
const (
	mostFigure = 1 << 26 // the least number that is too large, a power of two
	mostText   = 4 << 10 // bytes of outputs
)

// formKey is what steps have in common that one form can say.
type formKey struct {
	entered          int32 // node
	attempt, another int32
	widths           uint32   // of the numbers, four bits each
	texts            [3]int32 // bytes of them
	updated          bool
	stamp            int // version
}

// form is the text of a step's lines and the places in it.
type form struct {
	key    formKey
	text   []byte
	blanks []blank
	texts  [3]int // where the delta, the output and the next node's output begin
}

// blank is the place of a number. A number is written as a word, whose bytes
// behind the digits are those of the text.
type blank struct {
	at     int
	slot   slot
	behind uint64
}

// figures are what is particular to a step.
type figures struct {
	key   formKey
	words [slots]uint64 // digits, the first in the lowest byte
	delta []byte
	next  []byte // output of the node that is entered
}

// appendStep appends the lines of a step, from a form if there is one.
func (enc *encoder) appendStep(dst []byte, d *driver, left, entered *machine.Note, at int64) []byte {
	r := enc.known(d.state, left)
	fits := r != nil && enc.quick(entered, at) && enc.figure(d, left, entered)
	if fits && r.step.key == enc.figures.key {
		d.seq += 5
		if left.Updated {
			d.seq++
		}
		return enc.fill(dst, &r.step, entered)
	}
	start := len(dst)
	dst = enc.appendLeft(dst, d, left)
	between := len(dst)
	dst = enc.appendEntered(dst, d, entered, at)
	if fits {
		enc.learn(&r.step, dst[start:], between-start)
		for i := range r.step.texts {
			r.step.texts[i] = enc.texts[i] - start
		}
	}
	return dst
}

// figure brings together what is particular to a step; false when that fits no
// form. A node that comes by for the first time may never come again, and lines
// whose numbers are not of one length come seldom.
func (enc *encoder) figure(d *driver, left, entered *machine.Note) bool {
	w, first := &enc.figures, uint32(d.seq+1)
	if left.Visit < 2 || entered.Visit < 2 || left.Branch != "" || left.Failed || enc.outputStep != left.Step ||
		left.Step < 1 || entered.Step != left.Step+1 || entered.Superstep != left.Superstep+1 ||
		uint32(left.Step|left.Superstep|left.Visit|entered.Visit)|first >= mostFigure || d.seq >= mostFigure {
		return false
	}
	w.words[slotLine] = enc.line.word(first)
	width := enc.line.width()
	for i := uint32(1); i < 6; i++ {
		w.words[uint32(slotLine)+i] = enc.line.word(first + i)
	}
	if enc.line.width() != width {
		return false
	}
	w.words[slotTime] = enc.stamp.micros
	w.words[slotStep] = enc.step.word(uint32(left.Step))
	width = width<<4 | enc.step.width()
	w.words[slotStep+1] = enc.step.word(uint32(entered.Step))
	width = width<<4 | enc.step.width()
	w.words[slotSuperstep] = enc.superstep.word(uint32(left.Superstep))
	width = width<<4 | enc.superstep.width()
	w.words[slotSuperstep+1] = enc.superstep.word(uint32(entered.Superstep))
	width = width<<4 | enc.superstep.width()
	from, to := enc.piecesOf(left.Node), enc.piecesOf(entered.Node)
	w.words[slotVisit] = from.visits.word(uint32(left.Visit))
	width = width<<4 | from.visits.width()
	w.words[slotVisit+1] = to.visits.word(uint32(entered.Visit))
	width = width<<4 | to.visits.width()

	w.delta = w.delta[:0]
	if left.Updated {
		w.delta = enc.appendPairs(w.delta, d.state.Delta())
	}
	w.next = enc.appendObject(w.next[:0], entered.Output)
	k := &w.key
	k.entered, k.attempt, k.another = entered.Node, left.Attempt, entered.Attempt
	k.widths, k.updated, k.stamp = width, left.Updated, enc.stamp.version
	k.texts = [3]int32{int32(len(w.delta)), int32(len(enc.output)), int32(len(w.next))}
	return len(w.delta)|len(enc.output)|len(w.next) < mostText
}

// fill appends the lines of a form that fits the figures.
func (enc *encoder) fill(dst []byte, f *form, entered *machine.Note) []byte {
	w, start := &enc.figures, len(dst)
	dst = append(dst, f.text...)
	lines := dst[start:]
	for i := range f.blanks {
		b := &f.blanks[i]
		binary.LittleEndian.PutUint64(lines[b.at:], b.behind|w.words[b.slot%slots])
	}
	copy(lines[f.texts[0]:], w.delta)
	copy(lines[f.texts[1]:], enc.output)
	copy(lines[f.texts[2]:], w.next)
	enc.output, w.next = w.next, enc.output
	enc.outputStep = entered.Step
	return dst
}

// learn makes a form of a step's lines; from the byte between on they are those of
// the node that was entered.
func (enc *encoder) learn(f *form, lines []byte, between int) {
	f.key = enc.figures.key
	f.text, f.blanks = append(f.text[:0], lines...), f.blanks[:0]
	next := slot(0) // 1 for the node that was entered
	for start, line := 0, slotLine; start < len(lines); line++ {
		if start == between {
			next = 1
		}
		at := start + bytes.IndexByte(lines[start:], ',') + len(`,"seq":`)
		at = f.blank(at, line)
		f.blank(at+enc.stamp.micro, slotTime)
		at += len(enc.stamp.text)
		if after := f.find(at, `,"step":`, slotStep+next); after != at {
			at = f.find(after, `,"superstep":`, slotSuperstep+next)
			at += bytes.Index(lines[at:], []byte(`,"visit":`))
			at = f.find(at, `,"visit":`, slotVisit+next)
		} else {
			at = f.find(at, `,"superstep":`, slotSuperstep+next)
		}
		start = at + bytes.IndexByte(lines[at:], '\n') + 1
	}
}

// find adds the blank behind a key if that is what stands at a byte of the text,
// and returns where the text goes on.
func (f *form) find(at int, key string, s slot) int {
	if !bytes.HasPrefix(f.text[at:], []byte(key)) {
		return at
	}
	return f.blank(at+len(key), s)
}

// blank adds the blank of the number at a byte of the text, and returns where the
// text goes on.
func (f *form) blank(at int, s slot) (end int) {
	b := blank{at: at, slot: s, behind: binary.LittleEndian.Uint64(f.text[at:])}
	for end = at; f.text[end] >= '0' && f.text[end] <= '9'; end++ {
		b.behind &^= 0xff << (8 * (end - at))
	}
	f.blanks = append(f.blanks, b)
	return end
}
