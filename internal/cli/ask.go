// Asking a person on the terminal.

package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/graphrun/graphrun/internal/runview"
	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/runner/view"
)

// openEditor is what a person types to write an answer in an editor.
const openEditor = `\e`

// asker asks one question after the other.
type asker struct {
	in     *bufio.Reader
	out    io.Writer
	colors runview.Colors
	// columns is the width of the terminal; nil: not known.
	columns func() int
	// hold keeps the view from the terminal until the function it returns is called.
	hold func() (release func())
	// edit lets the person write a text in an editor; nil: there is none.
	edit  func(ctx context.Context) (string, error)
	turn  chan struct{}  // holds a token while somebody is being asked
	lines chan typedLine // what the person types
	// reading says that a line has been asked for and has not come yet. Whoever has
	// the turn may look at it.
	reading bool
}

// typedLine is a line that a person typed; err is io.EOF for none.
type typedLine struct {
	text string
	err  error
}

func newAsker(a *app, out *runOutput) *asker {
	return &asker{
		in: bufio.NewReader(a.Stdin), out: a.Stderr, colors: out.colors, columns: a.Columns, hold: out.hold, edit: a.editor(),
		turn: make(chan struct{}, 1), lines: make(chan typedLine, 1),
	}
}

// line is the next line that the person types. A read can't be cancelled: when ctx
// ends first, the line is that of whoever asks next. Nothing is read while nobody
// asks, so that an editor has the terminal for itself.
func (k *asker) line(ctx context.Context, prompt string) (string, error) {
	fmt.Fprint(k.out, k.colors.Info(prompt+"> "))
	if !k.reading {
		k.reading = true
		go func() {
			text, err := k.in.ReadString('\n')
			if text != "" {
				err = nil
			}
			k.lines <- typedLine{strings.TrimRight(text, "\r\n"), err}
		}()
	}
	select {
	case l := <-k.lines:
		k.reading = false
		if l.err != nil {
			fmt.Fprintln(k.out)
			return "", io.EOF
		}
		return l.text, nil
	case <-ctx.Done():
		fmt.Fprintln(k.out)
		return "", ctx.Err()
	}
}

// ask asks until the person answers or ctx ends. The end of the input means
// that nobody answers: the run will pause.
func (k *asker) ask(ctx context.Context, q view.Pending, problem string) (string, error) {
	select {
	case k.turn <- struct{}{}:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	defer func() { <-k.turn }()
	defer k.hold()()
	k.complain(problem)
	fmt.Fprintf(k.out, "%s  %s\n", k.colors.Strong(q.Target()), terminal.Text(q.Prompt))
	schema, _ := q.Schema.(map[string]any)
	if fields := fieldsOf(schema, q.Fields); len(fields) > 0 {
		return k.fill(ctx, fields)
	}
	f := askedValue{schema: schema, required: true}
	k.list(f.choices())
	k.hint(f.hint(k.edit != nil))
	for {
		text, err := k.text(ctx, f.name)
		if err != nil {
			return "", err
		}
		if len(f.choices()) == 0 {
			return text, nil // who takes it says whether it is legal
		}
		if _, err = f.value(text); err == nil {
			return text, nil
		}
		k.complain(err.Error()) // without asking for all of it again
	}
}

// text is what the person types, or writes in an editor.
func (k *asker) text(ctx context.Context, prompt string) (string, error) {
	for {
		text, err := k.line(ctx, prompt)
		if err != nil || strings.TrimSpace(text) != openEditor || k.edit == nil {
			return text, err
		}
		text, err = k.edit(ctx)
		switch {
		case err != nil:
			k.complain(err.Error())
		case text == "":
			k.complain("nothing was written; type an answer, or " + openEditor + " again")
		default:
			return text, nil
		}
	}
}

func (k *asker) complain(problem string) {
	if problem != "" {
		fmt.Fprintln(k.out, k.colors.Bad(terminal.Line(problem)))
	}
}

func (k *asker) list(choices []string) {
	for i, choice := range choices {
		k.say(fmt.Sprintf("  %d) %s", i+1, terminal.Line(choice)), len("  1) "))
	}
}

// say prints a line, broken between words where the terminal is too narrow for it.
func (k *asker) say(line string, indent int) {
	columns := 0
	if k.columns != nil {
		columns = k.columns()
	}
	fmt.Fprintln(k.out, strings.Join(terminal.Wrap(line, columns, indent), "\n"))
}

// hint says how to answer, and how not to.
func (k *asker) hint(how string) {
	if how != "" {
		how += "; "
	}
	k.say(k.colors.Quiet("  ("+how+"Ctrl-D leaves the question open)"), len("  ("))
}
