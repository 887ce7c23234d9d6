// One stream of a task. The log stores the stream's beginning and end.

package runlog

import (
	"bytes"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/graphrun/graphrun/runner/internal/mask"
	"github.com/graphrun/graphrun/runner/store"
)

// stream is a stream of an attempt. The lock of its log guards it.
type stream struct {
	log      *Log
	about    store.LogChunk
	quiet    bool   // OnLine does not receive its lines
	rest     string // end of the written text that may be the beginning of a secret
	offset   int64
	head     int      // size of the beginning that is stored
	tail     []*chunk // the end, oldest first
	tailSize int
	line     []byte // the latest line, for OnLine
	lineDue  bool   // a call of OnLine is scheduled
}

// Write adds text to the stream.
func (s *stream) Write(p []byte) (int, error) {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	shown, rest := s.log.Mask.MaskChunk(s.rest + string(p))
	s.rest = rest
	s.addText([]byte(shown))
	return len(p), nil
}

// Close ends the stream.
func (s *stream) Close() error {
	l := s.log
	l.mu.Lock()
	defer l.mu.Unlock()
	s.addText([]byte(mask.MaskLastChunk(s.rest)))
	if s.offset > 0 && l.isStoring() {
		if last := s.lastQueued(); last != nil {
			last.End = true
		} else {
			s.newChunk(l.Now()).End = true
		}
		l.scheduleFlush()
	}
	s.rest = ""
	return nil
}

// addText adds text to the head until that is full, then to the tail, which drops its oldest chunks.
func (s *stream) addText(text []byte) {
	s.rememberLine(text)
	if !s.log.isStoring() {
		return
	}
	room := max(0, min(logHead-s.head, len(text)))
	s.appendChunks(text[:room], false)
	text = text[room:]
	skip := max(0, len(text)-logTail)
	s.offset += int64(skip)
	s.appendChunks(text[skip:], true)
	s.dropOldest()
	s.log.scheduleFlush()
}

// appendChunks adds text to the head or to the tail.
func (s *stream) appendChunks(text []byte, tail bool) {
	now := s.log.Now()
	for len(text) > 0 {
		c := s.lastQueued()
		if c == nil || len(c.text) == largestChunk || now.Sub(c.Time) >= logMerge ||
			tail != (len(s.tail) > 0) || c.Offset+int64(len(c.text)) != s.offset {
			c = s.newChunk(now)
			if tail {
				s.tail = append(s.tail, c)
			}
			s.addSize(c, logPiece, tail)
		}
		n := min(len(text), largestChunk-len(c.text))
		c.text = append(c.text, text[:n]...)
		s.addSize(c, n, tail)
		s.offset += int64(n)
		text = text[n:]
	}
}

// lastQueued returns the last queued chunk if it belongs to this stream, else nil.
func (s *stream) lastQueued() *chunk {
	if n := len(s.log.queue); n > 0 && s.log.queue[n-1].Call == s.about.Call {
		return s.log.queue[n-1]
	}
	return nil
}

func (s *stream) newChunk(now time.Time) *chunk {
	c := &chunk{LogChunk: s.about}
	c.Time, c.Offset = now, s.offset
	s.log.queue = append(s.log.queue, c)
	return c
}

func (s *stream) addSize(c *chunk, bytes int, tail bool) {
	c.size += bytes
	if tail {
		s.tailSize += bytes
	} else {
		s.head += bytes
	}
}

// dropOldest drops the oldest chunks of the tail while the remaining ones have logTail bytes.
func (s *stream) dropOldest() {
	l := s.log
	for len(s.tail) > 1 && s.tailSize-s.tail[0].size >= logTail {
		c := s.tail[0]
		s.tailSize -= c.size
		s.tail = s.tail[1:]
		if i := slices.Index(l.queue, c); i >= 0 {
			l.queue = slices.Delete(l.queue, i, i+1)
		} else if c.gone = true; c.Seq > 0 {
			l.drop = append(l.drop, c.Seq)
		}
	}
}

// maxLine bounds the line that OnLine receives.
const maxLine = 1 << 10

// rememberLine remembers the latest line with visible text, for OnLine.
func (s *stream) rememberLine(text []byte) {
	if s.log.OnLine == nil || s.quiet || len(bytes.TrimSpace(text)) == 0 {
		return
	}
	all := append(s.line, text[max(0, len(text)-maxLine):]...)
	if at := bytes.LastIndexAny(bytes.TrimRight(all, "\r\n"), "\r\n"); at >= 0 {
		all = all[at+1:]
	}
	s.line = bytes.Clone(all[max(0, len(all)-maxLine):])
	if !s.lineDue {
		s.lineDue = true
		time.AfterFunc(lineInterval, s.reportLine)
	}
}

func (s *stream) reportLine() {
	l := s.log
	l.mu.Lock()
	line := s.about
	line.Time, line.Text = l.Now(), string(bytes.TrimSpace(s.line))
	s.lineDue = false
	closed := l.closed
	l.mu.Unlock()
	if !closed {
		l.OnLine(line)
	}
}

// Text writes each text that a task emits to a stream of its own. It is safe for concurrent use.
type Text struct {
	open func() io.WriteCloser

	mu     sync.Mutex
	stream io.WriteCloser // nil if none is open
}

// NewText returns a Text that opens streams with open.
func NewText(open func() io.WriteCloser) *Text { return &Text{open: open} }

// Add writes text. A final or a broken text ends the stream.
func (t *Text) Add(text string, final, broken bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stream == nil {
		if text == "" {
			return
		}
		t.stream = t.open()
	}
	if broken {
		text += "\n[broken off]"
	}
	_, _ = io.WriteString(t.stream, text)
	if final || broken {
		t.closeStream()
	}
}

// End ends the open stream, if any.
func (t *Text) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closeStream()
}

func (t *Text) closeStream() {
	if t.stream != nil {
		_ = t.stream.Close()
	}
	t.stream = nil
}
