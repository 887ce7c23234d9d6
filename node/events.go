// Events of programs: JSON lines that a program appends to GRAPHRUN_TASK_EVENTS.

package node

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

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
	if err != nil {
		return
	}
	size := info.Size()
	if size < e.offset {
		e.offset, e.skipping = 0, false
	}
	buf := make([]byte, min(size-e.offset, maxEventLine+1))
	for e.offset < size {
		n, _ := e.file.ReadAt(buf[:min(size-e.offset, int64(len(buf)))], e.offset)
		rest := buf[:n]
		for {
			line, after, complete := bytes.Cut(rest, []byte("\n"))
			if !complete {
				break
			}
			e.take(line, false)
			e.skipping = false
			e.offset += int64(len(line) + 1)
			rest = after
		}
		switch {
		case len(rest) > maxEventLine:
			e.take(rest[:maxEventLine], true)
			e.skipping = true
			e.offset += int64(len(rest))
		case n == 0, e.offset+int64(len(rest)) == size:
			if atEnd && len(rest) > 0 {
				e.take(rest, false)
				e.offset = size
			}
			return
		}
	}
}

func (e *eventFile) take(line []byte, tooLong bool) {
	if e.skipping {
		return
	}
	if said, ok := e.parser.line(line, tooLong); ok {
		e.emit(said)
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
	shown := head(plain(headText(line, 400)), 80)
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
	switch name := event["event"]; name {
	case "progress":
		return p.progress(event)
	case "text":
		said.Type = "text"
		said.Text, err = requiredText(event, "text")
	case "custom":
		said.Type, said.Data = "custom", event["data"]
		if said.Name, err = requiredText(event, "type"); err == nil && said.Name == "" {
			err = errors.New(`"type" is empty`)
		}
	case "interrupt":
		err = p.interrupt(event)
	case nil:
		err = errors.New(`it has no "event" (custom, interrupt, progress, text)`)
	default:
		err = fmt.Errorf("unknown event %s (custom, interrupt, progress, text)", keys.Preview(name))
	}
	return said, err
}

// interrupt keeps a question. It replaces an earlier one with the same key.
func (p *eventParser) interrupt(event map[string]any) error {
	key, err := requiredText(event, "key")
	if err != nil {
		return err
	}
	if key == "" || strings.ContainsFunc(key, func(r rune) bool { return r == '=' || unicode.IsControl(r) }) {
		return fmt.Errorf(`"key" is %s; a name without "=" is wanted`, keys.Preview(key))
	}
	q := handler.Question{Key: key}
	if q.Prompt, err = optionalText(event, "prompt"); err != nil {
		return err
	}
	var isMap bool
	if q.Schema, isMap = event["schema"].(map[string]any); !isMap && event["schema"] != nil {
		return fmt.Errorf(`"schema" is %s; a JSON Schema is wanted`, keys.TypeName(event["schema"]))
	}
	if err := q.Check(); err != nil {
		return err
	}
	p.questions = slices.DeleteFunc(p.questions, func(other handler.Question) bool { return other.Key == key })
	if len(p.questions) == maxQuestions {
		return fmt.Errorf("the task already asks %d questions, the most that it can have", maxQuestions)
	}
	p.questions = append(p.questions, q)
	return nil
}

// progress reads a progress event. Without a percentage it repeats the last one, so a
// message alone does not look like starting over.
func (p *eventParser) progress(event map[string]any) (runner.Said, error) {
	percent := p.percent
	switch n := event["percent"].(type) {
	case nil:
	case int:
		percent = float64(n)
	case float64:
		percent = n
	default:
		percent = -1
	}
	if percent < 0 || percent > 100 {
		return runner.Said{}, fmt.Errorf(`"percent" is %s; a number from 0 to 100 is wanted`, keys.Preview(event["percent"]))
	}
	message, err := optionalText(event, "message")
	if err == nil {
		p.percent = percent
	}
	return runner.Said{Type: "progress", Percent: percent, Message: message}, err
}

func requiredText(event map[string]any, name string) (string, error) {
	if _, ok := event[name]; !ok {
		return "", fmt.Errorf("it has no %q", name)
	}
	text, ok := event[name].(string)
	if !ok {
		return "", fmt.Errorf("%q is %s; a text is wanted", name, keys.TypeName(event[name]))
	}
	return text, nil
}

func optionalText(event map[string]any, name string) (string, error) {
	if event[name] == nil {
		return "", nil
	}
	return requiredText(event, name)
}
