// Types of flags, and -o, which every command that prints a result has.

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/graphrun/graphrun/internal/suggest"
)

// enum is a flag value from a list of words.
type enum struct {
	value   string
	allowed []string
}

func newEnum(value string, allowed ...string) enum { return enum{value: value, allowed: allowed} }

// String returns the value.
func (e *enum) String() string { return e.value }

// Set accepts one of the allowed words.
func (e *enum) Set(s string) error {
	e.value = s
	return checkAllowed(s, e.allowed)
}

// Type returns the allowed words, which help shows.
func (e *enum) Type() string { return strings.Join(e.allowed, "|") }

func checkAllowed(word string, allowed []string) error {
	if slices.Contains(allowed, word) {
		return nil
	}
	return fmt.Errorf("%q is not allowed%s (allowed: %s)", word, suggest.DidYouMean(word, allowed), strings.Join(allowed, ", "))
}

// enumFlag adds an enum flag and the completion of its words.
func enumFlag(cmd *cobra.Command, flags *pflag.FlagSet, e *enum, name, short, help string) {
	flags.VarP(e, name, short, help)
	completeFlag(cmd, name, fixed(e.allowed...))
}

// enumList is a flag value of comma-separated words from a list.
type enumList struct {
	values  []string
	allowed []string
}

// String returns the list, separated by commas.
func (e *enumList) String() string { return strings.Join(e.values, ",") }

// Set adds the words of a list.
func (e *enumList) Set(s string) error {
	for word := range strings.SplitSeq(s, ",") {
		word = strings.TrimSpace(word)
		if err := checkAllowed(word, e.allowed); err != nil {
			return err
		}
		e.values = append(e.values, word)
	}
	return nil
}

// Type returns the name that help shows.
func (e *enumList) Type() string { return "list" }

// enumListFlag adds an enumList flag and the completion of its words.
func enumListFlag(cmd *cobra.Command, e *enumList, allowed []string, name, help string) {
	e.allowed = allowed
	cmd.Flags().Var(e, name, help)
	completeFlag(cmd, name, fixed(allowed...))
}

// age is a duration that may be given in days.
type age time.Duration

// String returns the duration.
func (d *age) String() string { return time.Duration(*d).String() }

// Set reads a duration such as 90m, 36h or 30d.
func (d *age) Set(s string) error {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		*d = age(time.Duration(n) * 24 * time.Hour)
		return err
	}
	v, err := time.ParseDuration(s)
	if *d = age(v); v < 0 {
		return strconv.ErrRange
	}
	return err
}

// Type returns the name that help shows.
func (d *age) Type() string { return "duration" }

// withOutput adds -o. The first format is the default; without formats it offers text and json.
func withOutput(cmd *cobra.Command, formats ...string) *cobra.Command {
	help := "output format"
	switch len(formats) {
	case 0:
		formats = []string{"text", "json"}
	case 1:
		help += "; there is only one"
	}
	e := newEnum(formats[0], slices.Sorted(slices.Values(formats))...)
	enumFlag(cmd, cmd.Flags(), &e, "output", "o", help)
	return cmd
}

// formatOf returns the value of -o.
func formatOf(cmd *cobra.Command) string { return cmd.Flag("output").Value.String() }

// print prints a result as JSON with -o json, and calls text otherwise.
func (a *app) print(cmd *cobra.Command, v any, text func() error) error {
	if formatOf(cmd) == "json" {
		return writeJSON(a.Stdout, v, a.StdoutTerminal)
	}
	return text()
}

// printLine prints a one-line result in the format of -o.
func (a *app) printLine(cmd *cobra.Command, v any, line string) error {
	return a.print(cmd, v, func() error { return a.printLines([]string{line}) })
}

// printLines prints lines on stdout.
func (a *app) printLines(lines []string) error {
	if len(lines) == 0 {
		return nil
	}
	_, err := io.WriteString(a.Stdout, strings.Join(lines, "\n")+"\n")
	return err
}

// printTable prints rows in columns, or a message on stderr if there are none.
func (a *app) printTable(none string, head []string, rows [][]string) error {
	if len(rows) == 0 {
		fmt.Fprintln(a.Stderr, none)
		return nil
	}
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	if head != nil {
		rows = slices.Insert(rows, 0, head)
	}
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	return w.Flush()
}

// writeJSON prints a value as JSON, indented for a terminal and in one line otherwise. It
// does not escape characters such as <.
func writeJSON(w io.Writer, v any, indent bool) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	if indent {
		enc.SetIndent("", "  ")
	}
	return enc.Encode(v)
}
