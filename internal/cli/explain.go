// The explain command: what a validation rule means.

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/lint"
)

// ruleText is a rule as explain prints it in JSON.
type ruleText struct {
	Rule     string            `json:"rule"`
	Severity string            `json:"severity"`
	Off      bool              `json:"off_by_default,omitempty"`
	Summary  string            `json:"summary"`
	Doc      string            `json:"doc"`
	Bad      string            `json:"bad"`
	Good     string            `json:"good"`
	Files    map[string]string `json:"files,omitempty"`
}

func newExplainCommand(a *app) *cobra.Command {
	output := newEnum("text", "json", "text")
	cmd := &cobra.Command{
		Use:   "explain [RULE|KEY|KIND|ERROR|exit-codes]",
		Short: "Explain a rule, a key, a kind of node, a kind of error or an exit code",
		Long: `explain explains what graphrun reports and what you write:

  a rule of validate      what it means, why it matters, what to do, and two complete
                          graph files: one that raises it and one that doesn't
  a key of graph files    what it takes, its default and what it does, in each place
  a kind of node          its keys
  a kind of error,        what it means and what to do; error-kinds and exit-codes
  an exit code            list all

Without an argument it lists the rules.`,
		Example: `  graphrun explain
  graphrun explain missing-join
  graphrun explain exec
  graphrun explain join
  graphrun explain limits.max_steps
  graphrun explain rate_limited
  graphrun explain exit-codes
  graphrun explain unknown-node -o json`,
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return explained(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.listRules(output.value)
			}
			return a.explain(args[0], output.value)
		},
	}
	enumFlag(cmd, cmd.Flags(), &output, "output", "o", "output format")
	return cmd
}

func textOfRule(r *lint.Rule) ruleText {
	return ruleText{r.Name, r.Severity.String(), r.Off, r.Summary, r.Doc, r.Bad, r.Good, r.Files}
}

func (a *app) listRules(format string) error {
	rules := lint.Rules()
	if format == "json" {
		out := make([]ruleText, len(rules))
		for i := range rules {
			out[i] = textOfRule(&rules[i])
		}
		return printJSON(a.Stdout, out)
	}
	for _, r := range rules {
		if _, err := fmt.Fprintf(a.Stdout, "%-24s %-8s %s\n", r.Name, listed(&r), r.Summary); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) explain(name, format string) error {
	r, ok := lint.FindRule(name)
	if !ok {
		if topics := topicsNamed(name); len(topics) > 0 {
			return a.explainTopics(topics, failuresNamed(name), format)
		}
		if done, err := a.explainEnd(name, format); done || err != nil {
			return err
		}
		return usagef("no such rule, key, kind, error or exit code: %q%s", name, suggest.DidYouMean(name, explained()))
	}
	if format == "json" {
		return printJSON(a.Stdout, textOfRule(&r))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s)\n%s\n\n", r.Name, severityWords(&r), r.Summary)
	for _, line := range wrap(r.Doc, 88) {
		fmt.Fprintln(&b, line)
	}
	fmt.Fprintf(&b, "\nbad:\n\n%s\ngood:\n\n%s", indent(r.Bad), indent(r.Good))
	for _, path := range slices.Sorted(maps.Keys(r.Files)) {
		fmt.Fprintf(&b, "\n%s:\n\n%s", path, indent(r.Files[path]))
	}
	_, err := io.WriteString(a.Stdout, b.String())
	return err
}

// explained are the names that explain takes, each once.
func explained() []string {
	names := slices.Concat(ruleNames(), topicNames(), endTopicNames())
	slices.Sort(names)
	return slices.Compact(names)
}

// severityWords is a rule's severity, and how to turn it on if it is off.
func severityWords(r *lint.Rule) string {
	if r.Off {
		return fmt.Sprintf("%s, off by default: --rule +%s or graphrun.yaml turns it on", r.Severity, r.Name)
	}
	return r.Severity.String()
}

// listed is a rule's severity in the list of all.
func listed(r *lint.Rule) string {
	if r.Off {
		return "off"
	}
	return r.Severity.String()
}

// indent moves a text to the right.
func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
}

// wrap breaks a text into lines of at most so many columns, where it can.
func wrap(text string, columns int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case len(line)+1+len(word) > columns:
			lines, line = append(lines, line), word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
