// Asking a person on the terminal.

package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/runner"
)

// asker asks one question after the other.
type asker struct {
	in     io.Reader
	out    io.Writer
	colors traceColors
	// hold keeps the view from the terminal until the function it returns is called.
	hold  func() (release func())
	turn  chan struct{} // holds a token while somebody is being asked
	start sync.Once
	lines chan string // what the person types; closed at the end of it
}

func newAsker(a *app, out *runOutput) *asker {
	return &asker{
		in: a.Stdin, out: a.Stderr, colors: out.colors, hold: out.hold,
		turn: make(chan struct{}, 1), lines: make(chan string),
	}
}

// read passes on lines. A read can't be cancelled: the goroutine lives as long
// as the program.
func (k *asker) read() {
	defer close(k.lines)
	in := bufio.NewReader(k.in)
	for {
		line, err := in.ReadString('\n')
		if line != "" {
			k.lines <- strings.TrimRight(line, "\r\n")
		}
		if err != nil {
			return
		}
	}
}

// ask asks until the person answers or ctx ends. The end of the input means
// that nobody answers: the run will pause.
func (k *asker) ask(ctx context.Context, q runner.Pending, problem string) (string, error) {
	select {
	case k.turn <- struct{}{}:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	defer func() { <-k.turn }()
	defer k.hold()()
	k.start.Do(func() { go k.read() })
	choices := choicesOf(q.Schema)
	if problem != "" {
		fmt.Fprintln(k.out, k.colors.bad(terminal.Line(problem)))
	}
	fmt.Fprintf(k.out, "%s  %s\n", k.colors.strong(q.Target()), terminal.Text(q.Prompt))
	for i, choice := range choices {
		fmt.Fprintf(k.out, "  %d) %s\n", i+1, terminal.Line(choice))
	}
	fmt.Fprint(k.out, k.colors.info("> "))
	select {
	case line, ok := <-k.lines:
		if !ok {
			fmt.Fprintln(k.out)
			return "", io.EOF
		}
		return chosen(line, choices), nil
	case <-ctx.Done():
		fmt.Fprintln(k.out)
		return "", ctx.Err()
	}
}

// choicesOf are the legal answers, when a question lists them.
func choicesOf(schema any) []string {
	document, _ := schema.(map[string]any)
	list, _ := document["enum"].([]any)
	var out []string
	for _, v := range list {
		if s, ok := v.(string); ok {
			out = append(out, s)
		} else {
			out = append(out, valueText(v, maxSummaryValue))
		}
	}
	return out
}

// chosen is the answer that a line means: a choice's number stands for it, if
// no choice is that number.
func chosen(line string, choices []string) string {
	line = strings.TrimSpace(line)
	for _, c := range choices {
		if c == line {
			return line
		}
	}
	if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(choices) {
		return choices[n-1]
	}
	return line
}
