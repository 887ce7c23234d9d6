// The diff command: what changed between two versions of a graph.

package cli

import (
	"fmt"
	"strings"

	"github.com/graphrun/graphrun/eval"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/internal/flowdiff"
)

func newDiffCommand(a *app) *cobra.Command {
	return withOutput(&cobra.Command{
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
		Args:              takes(2, 2, "two graph files"),
		ValidArgsFunction: completeFiles,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.diff(cmd, args[0], args[1]) },
	})
}

// diffReport is the command's JSON.
type diffReport struct {
	Breaking bool              `json:"breaking"`
	Changes  []flowdiff.Change `json:"changes"`
}

func (a *app) diff(cmd *cobra.Command, before, after string) error {
	if before == "-" && after == "-" {
		return usagef("stdin holds one graph; name a file for the other")
	}
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
	var b strings.Builder
	for _, c := range r.Changes {
		mark := "  "
		if c.Breaking {
			breaking++
			mark = "! "
		}
		b.WriteString(mark + c.Kind + " " + c.Name + " " + c.Change)
		if c.Detail != "" {
			b.WriteString(": " + c.Detail)
		}
		b.WriteString("\n")
	}
	r.Breaking = breaking > 0
	if err := a.printWhole(cmd, r, b.String()); err != nil {
		return err
	}
	if formatOf(cmd) == "text" {
		a.countChanges(len(r.Changes)-breaking, breaking)
	}
	if r.Breaking {
		return silent(exitFailed)
	}
	return nil
}

func (a *app) countChanges(others, breaking int) {
	switch {
	case others+breaking == 0:
		fmt.Fprintln(a.Stderr, "no changes")
	case breaking == 0:
		fmt.Fprintf(a.Stderr, "%s, none breaks callers\n", eval.Count(others, "change"))
	default:
		fmt.Fprintf(a.Stderr, "%s breaking callers (!), %s\n", eval.Count(breaking, "change"), eval.Count(others, "other"))
	}
}
