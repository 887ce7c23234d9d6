// The schema command: JSON Schemas of the language and of outputs.

package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/flowtest"
	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/model/scripted"
	"github.com/graphrun/graphrun/render"
	"github.com/graphrun/graphrun/spec"
)

// schemas returns the schemas by the argument that selects them.
var schemas = []struct {
	name, of string
	make     func() any
}{
	{"flow", "graph files", func() any { return spec.Schema(spec.Options{}) }},
	{"test", "test files, which test runs", func() any {
		return spec.SchemaOf("graphrun tests v1", "A test file of a flow, which graphrun test runs.", flowtest.Keys())
	}},
	{"answers", "files with scripted answers", func() any {
		return spec.SchemaOf("graphrun scripted answers", "Answers for model nodes, by scripted/PATH.", scripted.Keys())
	}},
	{"drawing", "what render --format json prints", func() any { return render.Schema() }},
}

func newSchemaCommand(a *app) *cobra.Command {
	var names, described []string
	for _, s := range schemas {
		names, described = append(names, s.name), append(described, s.name+"\t"+s.of)
	}
	return withOutput(&cobra.Command{
		Use:   "schema [" + strings.Join(names, "|") + "]",
		Short: "Print the JSON Schema of graph files",
		Long: `schema prints the JSON Schema (draft 2020-12) of graph files on stdout, so that editors
can complete and check files while you write; "graphrun validate" checks more. Other
schemas: "test" for test files, "answers" for scripted answers, "drawing" for what
"graphrun render --format json" prints.`,
		Example: `  graphrun schema > graphrun.schema.json
  # first line of a graph file, for editors with the YAML language server (init writes one):
  # yaml-language-server: $schema=graphrun.schema.json
  graphrun schema test > graphrun-test.schema.json`,
		Args:              takes(0, 1, "one name"),
		PreRunE:           noSettings,
		ValidArgsFunction: byPosition(fixed(described...)),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"flow"}
			}
			i := slices.Index(names, args[0])
			if i < 0 {
				return usagef("no schema %q%s (allowed: %s)", args[0], suggest.DidYouMean(args[0], names), strings.Join(names, ", "))
			}
			return writeJSON(a.Stdout, schemas[i].make(), true)
		},
	}, "json")
}
