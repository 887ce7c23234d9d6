// The diff command: what changed between two versions of a graph.

package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/internal/flowdiff"
)

func newDiffCommand(a *app) *cobra.Command {
	output := newEnum("text", "json", "text")
	cmd := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Compare two versions of a graph and find changes that break callers",
		Long: `diff compares two versions of a graph: inputs, outputs, secrets, questions, nodes, edges,
guards, limits. It ignores how the files are written. One of the files may be - for stdin.

A change breaks callers if a call that worked may now fail: an input is removed, newly
required or accepts less; a part of the output is gone or may hold new values; a secret
is needed; a run may pause for a person where it did not before.

Exit codes: 0 nothing that breaks callers, 1 something does, 2 wrong usage, 3 a file is invalid.`,
		Example: `  graphrun diff old.yaml new.yaml
  git show HEAD:flow.yaml | graphrun diff - flow.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("%q takes two graph files, got %d", cmd.CommandPath(), len(args))
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 1 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return []string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt
		},
		PreRunE: a.loadSettings,
		RunE:    func(_ *cobra.Command, args []string) error { return a.diff(args[0], args[1], output.value) },
	}
	enumFlag(cmd, cmd.Flags(), &output, "output", "o", "output format")
	return cmd
}

// diffReport is the command's JSON.
type diffReport struct {
	Breaking bool              `json:"breaking"`
	Changes  []flowdiff.Change `json:"changes"`
}

func (a *app) diff(before, after, form string) error {
	if before == "-" && after == "-" {
		return usagef("stdin holds one graph; name a file for the other")
	}
	defer setCollector([]source{{name: before}, {name: after}})()
	old, err := a.loadFlow(before)
	if err != nil {
		return err
	}
	now, err := a.loadFlow(after)
	if err != nil {
		return err
	}
	r := diffReport{Changes: flowdiff.Compare(old, now)}
	if r.Changes == nil {
		r.Changes = []flowdiff.Change{}
	}
	breaking := 0
	for i := range r.Changes {
		if r.Changes[i].Breaking {
			breaking++
		}
	}
	r.Breaking = breaking > 0
	if form == "json" {
		err = writeJSON(a.Stdout, r, true)
	} else {
		err = a.printChanges(&r, breaking)
	}
	if err == nil && r.Breaking {
		err = silent(exitFailed)
	}
	return err
}

func (a *app) printChanges(r *diffReport, breaking int) error {
	for i := range r.Changes {
		c := &r.Changes[i]
		mark := "  "
		if c.Breaking {
			mark = "! "
		}
		line := mark + c.Kind + " " + c.Name + " " + c.Change
		if c.Detail != "" {
			line += ": " + c.Detail
		}
		if _, err := fmt.Fprintln(a.Stdout, line); err != nil {
			return err
		}
	}
	switch others := len(r.Changes) - breaking; {
	case len(r.Changes) == 0:
		fmt.Fprintln(a.Stderr, "no changes")
	case breaking == 0:
		fmt.Fprintf(a.Stderr, "%s, none breaks callers\n", counted(others, "change"))
	default:
		fmt.Fprintf(a.Stderr, "%s breaking callers (!), %s\n", counted(breaking, "change"), counted(others, "other"))
	}
	return nil
}
