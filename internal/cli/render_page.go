// The page of render --format html.

package cli

import (
	"bytes"
	"context"
	"io"

	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/internal/page"
)

// writePage writes the page of a flow or of a run.
func (a *app) writePage(ctx context.Context, w io.Writer, d *drawn) error {
	checked := inspect.Check(d.graph.File.Name, d.graph.File.Src, a.rules.Optional(nil))
	data := inspect.Page{
		Drawing: d.drawing.Document(),
		Flow:    inspect.NewFlow(d.graph, nearPath(d.graph.File.Name), a.rules.Shown(checked.Found), d.open),
	}
	title := d.graph.Name.Value
	if d.run != nil {
		var err error
		if data.Run, err = d.run.Page(ctx); err != nil {
			return err
		}
		title += " · run " + d.run.Record.ID
	}
	var text bytes.Buffer
	if err := writeJSON(&text, data, false); err != nil {
		return err
	}
	return page.Write(w, title+" · graphrun", text.Bytes())
}
