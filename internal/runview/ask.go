// Questions on the terminal.

package runview

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/internal/bounded"
	"github.com/graphrun/graphrun/internal/input"
	"github.com/graphrun/graphrun/internal/schema"
	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/runner/view"
)

// openEditor is the input that opens an editor.
const openEditor = `\e`

const maxDefault = 40 // most columns of a default

// Asker asks one question after another.
type Asker struct {
	in      *bufio.Reader
	out     io.Writer
	colors  terminal.Colors
	columns func() int // returns the width of the terminal, or 0 if it is unknown
	// pauseOutput stops the view from drawing until the returned function is called.
	pauseOutput func() (resume func())
	// edit opens an editor for a text. It is nil without an editor.
	edit  func(ctx context.Context) (string, error)
	turn  chan struct{} // holds a token during a question
	lines chan string   // lines that the person types; closed at the end of the input
	// reading says that a read is in progress. The holder of turn may use it.
	reading bool
}

// NewAsker returns an Asker that prints on out and reads in. columns returns the width of the
// terminal, or 0 if it is unknown; pauseOutput stops other output until resume is called.
func NewAsker(in io.Reader, out io.Writer, colors terminal.Colors, columns func() int, pauseOutput func() (resume func())) *Asker {
	return &Asker{
		in: bufio.NewReader(in), out: out, colors: colors, columns: columns, pauseOutput: pauseOutput, edit: newEditor(in, out),
		turn: make(chan struct{}, 1), lines: make(chan string, 1),
	}
}

// readLine returns the next line that a person types. A read can't be cancelled: if ctx ends
// first, the next call gets the line. readLine reads only on demand, because an editor may
// use the terminal meanwhile.
func (k *Asker) readLine(ctx context.Context, prompt string) (string, error) {
	fmt.Fprint(k.out, k.colors.Info(prompt+"> "))
	if !k.reading {
		k.reading = true
		go func() {
			text, _ := k.in.ReadString('\n')
			if text == "" {
				close(k.lines)
				return
			}
			k.lines <- strings.TrimRight(text, "\r\n")
		}()
	}
	select {
	case text, ok := <-k.lines:
		if ok {
			k.reading = false
			return text, nil
		}
		fmt.Fprintln(k.out)
		return "", io.EOF
	case <-ctx.Done():
		fmt.Fprintln(k.out)
		return "", ctx.Err()
	}
}

// ReadAnswer asks until the person answers or ctx ends. At the end of the input it returns io.EOF.
func (k *Asker) ReadAnswer(ctx context.Context, q view.Pending, problem string) (string, error) {
	select {
	case k.turn <- struct{}{}:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	defer func() { <-k.turn }()
	defer k.pauseOutput()()
	k.printProblem(problem)
	fmt.Fprintf(k.out, "%s  %s\n", k.colors.Strong(q.Target()), terminal.Text(q.Prompt))
	document, _ := q.Schema.(map[string]any)
	if fields := input.Fields(document, q.Fields); len(fields) > 0 {
		return k.askFields(ctx, fields)
	}
	choices := k.printChoices(document)
	k.printHint(k.describeInput(document))
	return k.readChecked(ctx, "", func(text string) error {
		if choices == 0 { // the run checks it
			return nil
		}
		_, err := parseAnswer(text, document)
		return err
	})
}

// readChecked asks until the person types a text, or writes it in an editor, that check accepts.
func (k *Asker) readChecked(ctx context.Context, name string, check func(text string) error) (string, error) {
	for {
		text, err := k.readLine(ctx, name)
		if err != nil {
			return "", err
		}
		if strings.TrimSpace(text) == openEditor && k.edit != nil {
			if text, err = k.edit(ctx); err == nil && text == "" {
				err = errors.New("nothing was written; type an answer, or " + openEditor + " again")
			}
		}
		if err == nil {
			if err = check(text); err == nil {
				return text, nil
			}
		}
		k.printProblem(joinNonEmpty(": ", name, err.Error()))
	}
}

func (k *Asker) printProblem(problem string) {
	if problem != "" {
		fmt.Fprintln(k.out, k.colors.Bad(terminal.Line(problem)))
	}
}

// printChoices prints the choices of a schema and returns their number.
func (k *Asker) printChoices(document map[string]any) int {
	choices := input.ChoiceNames(document)
	for i, choice := range choices {
		k.printWrapped(fmt.Sprintf("  %d) %s", i+1, terminal.Line(choice)), len("  1) "))
	}
	return len(choices)
}

func (k *Asker) printWrapped(line string, indent int) {
	fmt.Fprintln(k.out, strings.Join(terminal.Wrap(line, k.columns(), indent), "\n"))
}

// printHint describes how to answer or to leave the question open.
func (k *Asker) printHint(how string) {
	if how != "" {
		how += "; "
	}
	k.printWrapped(k.colors.Quiet("  ("+how+"Ctrl-D leaves the question open)"), len("  ("))
}

func (k *Asker) askFields(ctx context.Context, fields []input.Field) (string, error) {
	k.printHint("field by field, or all at once as {" + fields[0].Name + ": …}")
	out := map[string]any{}
	for i := range fields {
		f := &fields[i]
		k.printWrapped("  "+k.colors.Strong(terminal.Line(f.Name))+"  "+terminal.Line(k.describeField(f)), len("    "))
		k.printChoices(f.Schema)
		isWhole := func(text string) bool { return i == 0 && strings.HasPrefix(strings.TrimSpace(text), "{") }
		text, err := k.readChecked(ctx, f.Name, func(text string) error {
			if isWhole(text) || text == "" && !f.Required { // its default, or nothing
				return nil
			}
			value, err := parseAnswer(text, f.Schema)
			if err == nil {
				out[f.Name] = value
			}
			return err
		})
		if err != nil || isWhole(text) {
			return text, err
		}
	}
	text, err := json.Marshal(out)
	return string(text), err
}

func (k *Asker) describeInput(document map[string]any) string {
	types := input.Types(document)
	isText := len(types) == 0 || slices.Contains(types, "string")
	switch {
	case len(input.Choices(document)) > 0:
		return "a number or the first letters"
	case isText && k.edit != nil:
		return openEditor + " opens an editor"
	case isText:
		return ""
	}
	text := strings.Join(types, " or ")
	if slices.Contains(types, "object") || slices.Contains(types, "array") {
		text += ", as YAML or JSON"
	}
	return text
}

// describeField returns the description of a field and its legal values.
func (k *Asker) describeField(f *input.Field) string {
	var how []string
	if hint := k.describeInput(f.Schema); hint != "" {
		how = append(how, hint)
	}
	if value, has := f.Schema["default"]; has {
		how = append(how, "default "+FormatValue(value, maxDefault))
	} else if !f.Required {
		how = append(how, "may stay empty")
	}
	text, _ := f.Schema["description"].(string)
	if len(how) > 0 {
		text += "  (" + strings.Join(how, "; ") + ")"
	}
	return strings.TrimLeft(text, " ")
}

func parseAnswer(text string, document map[string]any) (any, error) {
	if text == "" {
		return nil, errors.New("an answer is needed")
	}
	compiled, err := schema.Compile(document)
	if err != nil {
		return text, nil // the run has reported the schema error
	}
	return input.ParseAnswer(text, compiled, document)
}

// newEditor returns a function that edits a text with $VISUAL or $EDITOR, or nil if neither is set.
func newEditor(in io.Reader, out io.Writer) func(ctx context.Context) (string, error) {
	command := cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR"))
	if command == "" {
		return nil
	}
	return func(ctx context.Context) (string, error) {
		file, err := os.CreateTemp("", "graphrun-*.txt")
		if err != nil {
			return "", err
		}
		defer os.Remove(file.Name())
		_ = file.Close()                                                                // it is empty
		cmd := exec.CommandContext(ctx, "sh", "-c", command+` "$1"`, "sh", file.Name()) // a command may have arguments: "code --wait"
		cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, out
		if err := cmd.Run(); err != nil {
			return "", fmt.Errorf("the editor %q: %w", command, err)
		}
		text, err := bounded.ReadFile(file.Name(), bounded.Text)
		return strings.TrimRight(string(text), "\r\n"), err
	}
}
