// Findings as GitHub workflow commands, which GitHub shows beside the lines of
// a change.

package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/graphrun/graphrun/spec"
)

func writeGitHub(w io.Writer, f Findings, _ Options) error {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	out := bufio.NewWriter(w)
	for i := range f.Diagnostics {
		d := &f.Diagnostics[i]
		from, to := d.File.Position(d.Span.From), d.File.Position(d.Span.To)
		command := d.Severity.String()
		if d.Severity == spec.Info {
			command = "notice"
		}
		fmt.Fprintf(out, "::%s file=%s,line=%d,col=%d,endLine=%d,endColumn=%d,title=%s::%s\n",
			command, property.Replace(d.File.Name), from.Line, from.Column, to.Line, to.Column,
			property.Replace(d.Rule), data.Replace(withHint(d)))
	}
	return out.Flush()
}
