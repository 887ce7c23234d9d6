// test --mutate: whether the tests notice that a flow has changed.

package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/graphrun/graphrun/flowtest"
)

// mutateTests runs the tests on changes of their flows and reports those that no
// case notices.
func (a *app) mutateTests(f *testFlags, cfg flowtest.Config, files []*flowtest.File) error {
	if base := flowtest.Run(cfg, files); base.Failed > 0 {
		if err := a.printTests(f, base); err != nil {
			return err
		}
		fmt.Fprintln(a.Stderr, "graphrun: the cases fail as the flows are; nothing was changed")
		return silent(exitFailed)
	}
	m, err := flowtest.Mutate(cfg, files)
	if err != nil {
		return usage(err)
	}
	if f.format.value == "text" {
		var b strings.Builder
		for _, s := range m.Survivors {
			fmt.Fprintf(&b, "%s:%d: no case notices that %s\n", s.File, s.Line, s.What)
		}
		fmt.Fprintf(&b, "%d of %s noticed, %d that no input can tell apart; score %v %%\n", m.Killed, counted(m.Mutants, "change"), m.Equivalent, m.Score)
		_, err = io.WriteString(a.Stdout, b.String())
	} else {
		err = writeJSON(a.Stdout, m, a.StdoutTerminal)
	}
	if err != nil {
		return err
	}
	if m.Score < f.minScore {
		fmt.Fprintf(a.Stderr, "graphrun: the score is %v %%, --min-score asks for %v %%\n", m.Score, f.minScore)
		return silent(exitFailed)
	}
	return nil
}
