// Events of programs: JSON lines that a program appends to GRAPHRUN_TASK_EVENTS.

package node

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/keys"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
)

const (
	maxEventLine = 64 << 10
	// eventPoll is short enough for a person who watches. Programs that end sooner are
	// read once, at their end.
	eventPoll = 50 * time.Millisecond
	// saidSkipped bounds the warnings about skipped lines. One more counts the rest.
	saidSkipped = 20
	// maxQuestions bounds the open questions of a program.
	maxQuestions = 100
)

// eventFile follows a file of events. Its goroutine owns the fields from offset on.
type eventFile struct {
	path string
	file *os.File
	emit func(runner.Said)
	stop chan struct{}
	done chan struct{}

	offset   int64
	skipping bool // the rest of a line that is too long
	parser   eventParser
}

// openEvents creates the file in a folder and passes its events to emit, in order, from
// one goroutine.
func openEvents(dir string, emit func(runner.Said)) (*eventFile, error) {
	path := filepath.Join(dir, "events.jsonl")
	file, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("can't create the file for the task's events: %w", err)
	}
	e := &eventFile{path: path, file: file, emit: emit, stop: make(chan struct{}), done: make(chan struct{})}
	go e.follow()
	return e, nil
}

// close reads the rest after the program has ended, removes the file and returns the
// program's questions.
func (e *eventFile) close() []handler.Question {
	if e.file == nil {
		return nil // creating it failed
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
			e.drain(false)
		case <-e.stop:
			e.drain(true)
			if more := e.parser.skipped - saidSkipped; more > 0 {
				e.emit(runner.Said{Type: "warning", Message: fmt.Sprintf("%d more lines of the task's events are skipped, up to line %d", more, e.parser.number)})
			}
			return
		}
	}
}

// drain reads the complete lines that the file holds now, and at the end also the last
// one without a line break. It does not wait for more, since what outlives a program may
// write for ever. A file that shrank is read from its beginning: a program may open it
// anew for each event.
func (e *eventFile) drain(atEnd bool) {
	info, err := e.file.Stat()
	if err != nil || info.Size() == e.offset {
		return
	}
	if info.Size() < e.offset {
		e.offset, e.skipping = 0, false
	}
	in := bufio.NewReaderSize(io.NewSectionReader(e.file, e.offset, info.Size()-e.offset), maxEventLine+1)
	for {
		line, err := in.ReadSlice('\n')
		tooLong := errors.Is(err, bufio.ErrBufferFull)
		if err != nil && !tooLong && (!atEnd || len(line) == 0) {
			return // the line is not complete
		}
		if !e.skipping {
			if said, ok := e.parser.line(bytes.TrimSuffix(line, []byte("\n")), tooLong); ok {
				e.emit(said)
			}
		}
		e.skipping = tooLong
		e.offset += int64(len(line))
	}
}

// eventParser reads the lines of one attempt.
type eventParser struct {
	number    int
	skipped   int
	percent   float64
	questions []handler.Question
}

// line reads a line; a line that is not an event gives a warning, an empty one nothing.
func (p *eventParser) line(line []byte, tooLong bool) (runner.Said, bool) {
	p.number++
	if len(bytes.TrimSpace(line)) == 0 && !tooLong {
		return runner.Said{}, false
	}
	said, err := p.parse(line, tooLong)
	if err == nil {
		return said, said.Type != ""
	}
	if p.skipped++; p.skipped > saidSkipped {
		return runner.Said{}, false
	}
	shown := eval.Shorten(plain(headText(line, 400)), 80)
	return runner.Said{Type: "warning", Message: fmt.Sprintf("line %d of the task's events is skipped: %v: %q", p.number, err, shown)}, true
}

func (p *eventParser) parse(line []byte, tooLong bool) (runner.Said, error) {
	if tooLong {
		return runner.Said{}, fmt.Errorf("it is longer than %d bytes", maxEventLine)
	}
	v, err := decodeJSON(line)
	if err != nil {
		return runner.Said{}, fmt.Errorf("it is not JSON: %w", err)
	}
	event, ok := v.(map[string]any)
	if !ok {
		return runner.Said{}, fmt.Errorf("it is %s; a JSON object is wanted", keys.TypeName(v))
	}
	return p.read(event)
}

// read converts an event. It keeps questions and returns no Said for them.
func (p *eventParser) read(event map[string]any) (said runner.Said, err error) {
	f := &eventFields{values: event}
	switch name := event["event"]; name {
	case "progress":
		said = p.progress(f)
	case "text":
		said = runner.Said{Type: "text", Text: f.text("text")}
	case "custom":
		said = runner.Said{Type: "custom", Name: f.text("type"), Data: event["data"]}
		if said.Name == "" {
			f.fail(`"type" is empty`)
		}
	case "interrupt":
		p.interrupt(f)
	case nil:
		f.fail(`it has no "event" (custom, interrupt, progress, text)`)
	default:
		f.fail("unknown event %s (custom, interrupt, progress, text)", keys.Preview(name))
	}
	if f.err != nil {
		return runner.Said{}, f.err
	}
	return said, nil
}

// interrupt keeps a question. It replaces an earlier one with the same key.
func (p *eventParser) interrupt(f *eventFields) {
	q := handler.Question{Key: f.text("key"), Prompt: f.optionalText("prompt")}
	if q.Key == "" || strings.ContainsFunc(q.Key, func(r rune) bool { return r == '=' || unicode.IsControl(r) }) {
		f.fail(`"key" is %s; a name without "=" is wanted`, keys.Preview(q.Key))
	}
	schema := f.values["schema"]
	var isMap bool
	if q.Schema, isMap = schema.(map[string]any); !isMap && schema != nil {
		f.fail(`"schema" is %s; a JSON Schema is wanted`, keys.TypeName(schema))
	}
	if err := q.Check(); err != nil {
		f.fail("%w", err)
	}
	if f.err != nil {
		return
	}
	p.questions = slices.DeleteFunc(p.questions, func(other handler.Question) bool { return other.Key == q.Key })
	if len(p.questions) == maxQuestions {
		f.fail("the task already asks %d questions, the most that it can have", maxQuestions)
		return
	}
	p.questions = append(p.questions, q)
}

// progress reads a progress event. Without a percentage it repeats the last one, so a
// message alone does not look like starting over.
func (p *eventParser) progress(f *eventFields) runner.Said {
	said := runner.Said{Type: "progress", Percent: p.percent, Message: f.optionalText("message")}
	switch n := f.values["percent"].(type) {
	case nil:
	case int:
		said.Percent = float64(n)
	case float64:
		said.Percent = n
	default:
		said.Percent = -1
	}
	if said.Percent < 0 || said.Percent > 100 {
		f.fail(`"percent" is %s; a number from 0 to 100 is wanted`, keys.Preview(f.values["percent"]))
	}
	if f.err == nil {
		p.percent = said.Percent
	}
	return said
}

// eventFields reads the fields of an event and keeps the first error.
type eventFields struct {
	values map[string]any
	err    error
}

func (f *eventFields) fail(format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf(format, args...)
	}
}

func (f *eventFields) text(name string) string {
	if _, ok := f.values[name]; !ok {
		f.fail("it has no %q", name)
	}
	text, ok := f.values[name].(string)
	if !ok {
		f.fail("%q is %s; a text is wanted", name, keys.TypeName(f.values[name]))
	}
	return text
}

func (f *eventFields) optionalText(name string) string {
	if f.values[name] == nil {
		return ""
	}
	return f.text(name)
}
