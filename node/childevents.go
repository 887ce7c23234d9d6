// What a running program says through the file named by GRAPHRUN_TASK_EVENTS:
// the file, the reading of it while the program runs, the order of events.

package node

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
)

const (
	maxEventLine = 64 << 10
	// eventPoll is short enough for a person who watches; programs that end
	// sooner are read once, at their end.
	eventPoll = 50 * time.Millisecond
)

// eventFile is a file that a program appends events to. Its goroutine owns
// everything but path, stop and done.
type eventFile struct {
	path string
	stop chan struct{}
	done chan struct{}

	emit   func(runner.Said)
	file   *os.File
	offset int64
	lines  lineSplitter
	parser eventParser
}

// openEvents makes the file in a folder and starts reading it. Every event goes
// to emit, in order, from one goroutine.
func openEvents(dir string, emit func(runner.Said)) (*eventFile, error) {
	path := filepath.Join(dir, "events.jsonl")
	file, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("no file can be made for the task's events: %w", err)
	}
	e := &eventFile{
		path: path, file: file, emit: emit,
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	e.lines.emit = func(line []byte, tooLong bool) {
		if said, ok := e.parser.line(line, tooLong); ok {
			emit(said)
		}
	}
	go e.follow()
	return e, nil
}

// close reads what is left, waits for the last emit to return and removes the
// file. It returns what the program asked. The program must have ended.
func (e *eventFile) close() []handler.Question {
	if e.file == nil {
		return nil // it could not be made
	}
	close(e.stop)
	<-e.done
	_ = e.file.Close()
	_ = os.Remove(e.path)
	return e.parser.questions
}

func (e *eventFile) follow() {
	defer close(e.done)
	ticker := time.NewTicker(eventPoll)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			e.drain()
		case <-e.stop:
			e.drain()
			e.lines.end()
			if said, ok := e.parser.rest(); ok {
				e.emit(said)
			}
			return
		}
	}
}

// drain reads what the file holds now, and not what is added meanwhile: what
// outlives the program may write for ever. A program that opens the file anew
// for every event without appending shrinks it; reading then starts over.
func (e *eventFile) drain() {
	info, err := e.file.Stat()
	if err != nil {
		return
	}
	if info.Size() < e.offset {
		e.lines.end()
		e.offset = 0
	}
	left := info.Size() - e.offset
	buf := make([]byte, min(left, maxEventLine))
	for left > 0 {
		n, err := e.file.ReadAt(buf[:min(left, maxEventLine)], e.offset)
		e.lines.write(buf[:n])
		e.offset += int64(n)
		left -= int64(n)
		if err != nil {
			return
		}
	}
}

// lineSplitter cuts a stream into lines and keeps no more than maxEventLine
// bytes of one.
type lineSplitter struct {
	emit    func(line []byte, tooLong bool)
	partial []byte
	tooLong bool
}

func (s *lineSplitter) write(p []byte) {
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			s.add(p)
			return
		}
		s.add(p[:i])
		s.flush()
		p = p[i+1:]
	}
}

func (s *lineSplitter) add(p []byte) {
	if room := maxEventLine - len(s.partial); len(p) > room {
		p, s.tooLong = p[:room], true
	}
	s.partial = append(s.partial, p...)
}

func (s *lineSplitter) flush() {
	s.emit(s.partial, s.tooLong)
	s.partial, s.tooLong = s.partial[:0], false
}

// end flushes a last line that has no line break.
func (s *lineSplitter) end() {
	if len(s.partial) > 0 {
		s.flush()
	}
}
