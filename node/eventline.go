// One line of a child's events: from bytes to what the node says.

package node

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
)

// eventParser reads the lines of one attempt.
type eventParser struct {
	number  int
	skipped int // lines that are no events
	percent float64
	// questions are those that the program asks, by its interrupts.
	questions []handler.Question
}

// line reads one line, without its line break, cut if tooLong. A line that is
// no event gives a warning; an empty one gives nothing.
func (p *eventParser) line(line []byte, tooLong bool) (runner.Said, bool) {
	p.number++
	if len(bytes.TrimSpace(line)) == 0 && !tooLong {
		return runner.Said{}, false
	}
	said, err := p.parse(line, tooLong)
	if err == nil && said.Type == "" {
		return said, false
	}
	if err != nil {
		if p.skipped++; p.skipped > saidSkipped {
			return runner.Said{}, false
		}
		shown := head(plain(headText(line, 400)), 80)
		return runner.Said{
			Type:    "warning",
			Message: fmt.Sprintf("line %d of the task's events is skipped: %v: %q", p.number, err, shown),
		}, true
	}
	return said, true
}

// saidSkipped is of how many skipped lines each is told; the rest is summed up.
const saidSkipped = 20

// rest sums up the skipped lines that nothing was said of.
func (p *eventParser) rest() (runner.Said, bool) {
	n := p.skipped - saidSkipped
	if n <= 0 {
		return runner.Said{}, false
	}
	return runner.Said{
		Type: "warning", Message: fmt.Sprintf("%d more lines of the task's events are skipped, up to line %d", n, p.number),
	}, true
}

func (p *eventParser) parse(line []byte, tooLong bool) (runner.Said, error) {
	if tooLong {
		return runner.Said{}, fmt.Errorf("it is longer than %d bytes", maxEventLine)
	}
	v, err := decodeJSON(line)
	if err != nil {
		return runner.Said{}, fmt.Errorf("it is not JSON: %w", err)
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return runner.Said{}, fmt.Errorf("it is %s; a JSON object is wanted", typeName(v))
	}
	return p.read(fields)
}

// read reads one event.
func (p *eventParser) read(fields map[string]any) (runner.Said, error) {
	switch name := fields["event"]; name {
	case "progress":
		return p.progress(fields)
	case "text":
		text, err := textField(fields, "text")
		return runner.Said{Type: "text", Text: text}, err
	case "custom":
		name, err := textField(fields, "type")
		if err == nil && name == "" {
			err = errors.New(`"type" is empty`)
		}
		return runner.Said{Type: "custom", Name: name, Data: fields["data"]}, err
	case "interrupt":
		return runner.Said{}, p.interrupt(fields)
	case nil:
		return runner.Said{}, errors.New(`it has no "event" (custom, interrupt, progress, text)`)
	default:
		return runner.Said{}, fmt.Errorf("unknown event %s (custom, interrupt, progress, text)", preview(name))
	}
}

// interrupt takes a question. Of several with one key the last stands.
func (p *eventParser) interrupt(fields map[string]any) error {
	key, err := textField(fields, "key")
	if err != nil {
		return err
	}
	if key == "" || strings.ContainsFunc(key, func(r rune) bool { return r == '=' || unicode.IsControl(r) }) {
		return fmt.Errorf(`"key" is %s; a name without "=" is wanted`, preview(key))
	}
	q := handler.Question{Key: key}
	if fields["prompt"] != nil {
		if q.Prompt, err = textField(fields, "prompt"); err != nil {
			return err
		}
	}
	switch schema := fields["schema"].(type) {
	case nil:
	case map[string]any:
		q.Schema = schema
	default:
		return fmt.Errorf(`"schema" is %s; a JSON Schema is wanted`, typeName(schema))
	}
	if err := q.Check(); err != nil {
		return err
	}
	p.questions = slices.DeleteFunc(p.questions, func(other handler.Question) bool { return other.Key == key })
	if len(p.questions) == maxQuestions {
		return fmt.Errorf("%d questions are asked already, the most that a task can have", maxQuestions)
	}
	p.questions = append(p.questions, q)
	return nil
}

// maxQuestions is how much a program can ask at once.
const maxQuestions = 100

// progress reads a progress event. One without a percentage repeats the last,
// so that a message alone does not look like starting over.
func (p *eventParser) progress(fields map[string]any) (runner.Said, error) {
	percent, message := p.percent, ""
	switch n := fields["percent"].(type) {
	case nil:
	case int:
		percent = float64(n)
	case float64:
		percent = n
	default:
		return runner.Said{}, fmt.Errorf(`"percent" is %s; a number from 0 to 100 is wanted`, preview(n))
	}
	if percent < 0 || percent > 100 {
		return runner.Said{}, fmt.Errorf(`"percent" is %s; a number from 0 to 100 is wanted`, eval.Text(percent))
	}
	if fields["message"] != nil {
		var err error
		if message, err = textField(fields, "message"); err != nil {
			return runner.Said{}, err
		}
	}
	p.percent = percent
	return runner.Said{Type: "progress", Percent: percent, Message: message}, nil
}

func textField(fields map[string]any, name string) (string, error) {
	v, ok := fields[name]
	if !ok {
		return "", fmt.Errorf("it has no %q", name)
	}
	s, ok := v.(string)
	if !ok {
		return "", fmt.Errorf("%q is %s; a text is wanted", name, typeName(v))
	}
	return s, nil
}
