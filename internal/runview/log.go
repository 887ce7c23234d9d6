// Logs as text, as JSON and raw.

package runview

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

// LogPrinter prints a log. Text and JSON contain complete lines, so streams do not mix.
type LogPrinter struct {
	out        *bufio.Writer
	form       string
	times      bool
	colors     terminal.Colors
	column     int
	unfinished map[int64]*logLine // unfinished lines by call
}

// logLine is the JSON of a line. Cut replaces lines that were not kept.
type logLine struct {
	Time    time.Time `json:"time"`
	Node    string    `json:"node"`
	Place   string    `json:"place,omitempty"`
	Visit   int       `json:"visit"`
	Attempt int       `json:"attempt"`
	Source  string    `json:"source,omitempty"`
	Stream  string    `json:"stream"`
	Text    string    `json:"text"`
	Cut     int64     `json:"cut,omitempty"`
}

// NewLogPrinter returns a printer for the log of a run. form is text, json or raw; times puts
// the time before lines of text.
func NewLogPrinter(out io.Writer, colors terminal.Colors, g *spec.Graph, form string, times bool) *LogPrinter {
	p := &LogPrinter{
		out: bufio.NewWriter(out), form: form, times: times, colors: colors, unfinished: map[int64]*logLine{},
	}
	for _, n := range g.Nodes {
		p.column = max(p.column, terminal.Width(n.ID.Value))
	}
	p.column = min(p.column, maxNodeColumn)
	return p
}

// Chunk prints the lines that a chunk completes.
func (p *LogPrinter) Chunk(c *store.LogChunk) error {
	if p.form == "raw" {
		_, err := io.WriteString(p.out, c.Text)
		return errors.Join(err, p.out.Flush())
	}
	if c.Cut > 0 {
		p.endLine(c.Call)
		line := newLogLine(c)
		line.Cut = c.Cut
		p.printLine(line)
	}
	for rest := c.Text; rest != ""; {
		text, after, ended := strings.Cut(rest, "\n")
		line := p.unfinished[c.Call]
		if line == nil {
			line = newLogLine(c)
			p.unfinished[c.Call] = line
		}
		if line.Text += text; ended || len(line.Text) > maxLogLine {
			p.endLine(c.Call)
		}
		rest = after
	}
	if c.End {
		p.endLine(c.Call)
	}
	return p.out.Flush()
}

const maxLogLine = 64 << 10

func newLogLine(c *store.LogChunk) *logLine {
	line := &logLine{Time: c.Time.UTC(), Node: c.Node, Visit: c.Visit, Attempt: c.Attempt, Source: c.Source, Stream: c.Stream}
	if c.Place != c.Node {
		line.Place = c.Place
	}
	return line
}

func (p *LogPrinter) endLine(call int64) {
	if line := p.unfinished[call]; line != nil {
		delete(p.unfinished, call)
		p.printLine(line)
	}
}

// Close prints unfinished lines.
func (p *LogPrinter) Close() error {
	for _, call := range slices.Sorted(maps.Keys(p.unfinished)) {
		p.endLine(call)
	}
	return p.out.Flush()
}

func (p *LogPrinter) printLine(line *logLine) {
	if p.form == "json" {
		text, _ := eval.AppendJSON(nil, line) // never fails
		_, _ = p.out.Write(append(text, '\n'))
		return
	}
	if p.times {
		fmt.Fprint(p.out, p.colors.Quiet(line.Time.Local().Format("15:04:05.000")), " ")
	}
	fmt.Fprint(p.out, p.colors.Strong(terminal.Pad(line.formatSource(), p.column)))
	text := terminal.Line(strings.TrimSuffix(line.Text, "\r"))
	switch {
	case line.Cut > 0:
		fmt.Fprintln(p.out, p.colors.Quiet(" … "+formatBytes(line.Cut)+" left out"))
	case line.Stream == "stderr":
		fmt.Fprintln(p.out, p.colors.Bad(strings.TrimRight(" ! "+text, " ")))
	case line.Stream == "text":
		fmt.Fprintln(p.out, strings.TrimRight(p.colors.Info(" >")+" "+text, " "))
	default:
		fmt.Fprintln(p.out, strings.TrimRight(p.colors.Quiet(" |")+" "+text, " "))
	}
}

// formatSource returns the node of a line, its visit and attempt from the second on, and the tool.
func (l *logLine) formatSource() string {
	attempt := ""
	if l.Attempt > 1 {
		attempt = fmt.Sprintf("attempt %d", l.Attempt)
	}
	return terminal.Line(joinNonEmpty(" ", formatVisit(cmp.Or(l.Place, l.Node), l.Visit), attempt, l.Source))
}

// formatBytes formats a number of bytes: 12 bytes, 3.4 KB, 99.8 MB.
func formatBytes(n int64) string {
	size, unit := float64(n), -1
	for ; size >= 1000 && unit < 2; unit++ {
		size /= 1000
	}
	if unit < 0 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.1f %cB", size, "KMG"[unit])
}
