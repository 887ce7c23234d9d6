// One stream of what is said: its beginning and its end are kept.

package runlog

import (
	"bytes"
	"slices"
	"time"

	"github.com/graphrun/graphrun/runner/internal/mask"
	"github.com/graphrun/graphrun/runner/store"
)

// logStream is one stream of one attempt. Its log's lock guards it.
type stream struct {
	log    *Log
	about  store.LogChunk
	rest   string // of what was written: perhaps the beginning of a secret
	offset int64
	head   int      // bytes of the beginning that are kept
	tail   []*chunk // of the end, the oldest first
	size   int      // what they cost
	last   *chunk
	line   []byte // the latest line, for Heard
	// telling says that Heard is about to be told; quiet, that it never is.
	telling bool
	quiet   bool
}

// Write takes what was said. It never fails and never waits for a disk.
func (s *stream) Write(p []byte) (int, error) {
	l := s.log
	l.mu.Lock()
	shown, rest := l.Mask.Chunk(s.rest + string(p))
	s.rest = rest
	s.add([]byte(shown))
	l.mu.Unlock()
	return len(p), nil
}

// Close ends the stream.
func (s *stream) Close() error {
	l := s.log
	l.mu.Lock()
	defer l.mu.Unlock()
	s.add([]byte(mask.LastChunk(s.rest)))
	if s.offset > 0 && l.Store != nil && !l.failed {
		if s.last == nil || s.last.writing || s.last.Seq > 0 {
			s.last = &chunk{LogChunk: s.about}
			s.last.Time, s.last.Offset = l.Now(), s.offset
			l.queue = append(l.queue, s.last)
		}
		s.last.End = true
		l.later()
	}
	s.rest, s.tail, s.last = "", nil, nil
	return nil
}

// add keeps text: first in the head, which stays, then in the tail, which forgets
// its beginning.
func (s *stream) add(text []byte) {
	s.hear(text)
	if s.log.Store == nil || s.log.failed {
		return
	}
	if room := max(0, min(logHead-s.head, len(text))); room > 0 {
		s.append(text[:room], false)
		text = text[room:]
	}
	if skip := len(text) - logTail; skip > 0 {
		s.offset += int64(skip)
		text = text[skip:]
		s.last = nil
	}
	if len(text) > 0 {
		s.append(text, true)
	}
	s.forget()
	if len(s.log.queue) > 0 || len(s.log.drop) > 0 {
		s.log.later()
	}
}

// append adds text to the last chunk, if it still waits and is recent, or else a
// new one.
func (s *stream) append(text []byte, tail bool) {
	now := s.log.Now()
	for len(text) > 0 {
		c := s.last
		if !s.takesMore(c, now, tail) {
			c = &chunk{LogChunk: s.about}
			c.Time, c.Offset = now, s.offset
			s.log.queue, s.last = append(s.log.queue, c), c
			if tail {
				s.tail = append(s.tail, c)
			}
			s.count(c, logPiece, tail)
		}
		n := min(len(text), largestChunk-len(c.text))
		c.text = append(c.text, text[:n]...)
		s.count(c, n, tail)
		s.offset += int64(n)
		text = text[n:]
	}
}

// takesMore reports whether a chunk can take more text: not when something else was
// said after it, or the order of two streams would not show.
func (s *stream) takesMore(c *chunk, now time.Time, tail bool) bool {
	queue := s.log.queue
	return c != nil && !c.writing && c.Seq == 0 && !c.gone && len(queue) > 0 && queue[len(queue)-1] == c &&
		len(c.text) < largestChunk && now.Sub(c.Time) < logMerge && tail == (len(s.tail) > 0)
}

func (s *stream) count(c *chunk, bytes int, tail bool) {
	c.size += bytes
	if tail {
		s.size += bytes
	} else {
		s.head += bytes
	}
}

// forget drops the oldest chunks of the tail while the others are enough.
func (s *stream) forget() {
	for len(s.tail) > 1 && s.size-s.tail[0].size >= logTail {
		c := s.tail[0]
		s.size -= c.size
		s.tail = s.tail[1:]
		if c.gone = true; c.Seq > 0 {
			s.log.drop = append(s.log.drop, c.Seq)
		} else if !c.writing {
			c.text = nil
			s.log.gone++
		}
	}
	if l := s.log; l.gone > 256 && l.gone > len(l.queue)/2 {
		l.queue = slices.DeleteFunc(l.queue, func(c *chunk) bool { return c.gone })
		l.gone = 0
	}
}

// maxLine bounds the line that Heard is told.
const maxLine = 1 << 10

// hear keeps the latest line that has visible text, and sees to it that it is told.
func (s *stream) hear(text []byte) {
	l := s.log
	if l.Heard == nil || s.quiet || len(bytes.TrimSpace(text)) == 0 {
		return
	}
	all := append(s.line, text[max(0, len(text)-maxLine):]...)
	if at := bytes.LastIndexAny(bytes.TrimRight(all, "\r\n"), "\r\n"); at >= 0 {
		all = all[at+1:]
	}
	s.line = bytes.Clone(all[max(0, len(all)-maxLine):])
	if !s.telling {
		s.telling = true
		time.AfterFunc(heardAfter, s.tell)
	}
}

// tell tells the latest line.
func (s *stream) tell() {
	l := s.log
	l.mu.Lock()
	line := s.about
	line.Time, line.Text = l.Now(), string(bytes.TrimSpace(s.line))
	s.telling = false
	over := l.over
	l.mu.Unlock()
	if !over {
		l.Heard(line)
	}
}
