// The schema command: the JSON Schema of the language.

package cli

import (
	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/spec"
)

func newSchemaCommand(a *app) *cobra.Command {
	output := newEnum("json", "json")
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of graph files",
		Long: `schema prints the JSON Schema (draft 2020-12) of graph files on stdout. Editors use it
to complete and check files as they are written; "graphrun validate" checks more.`,
		Example: `  graphrun schema > graphrun.schema.json
  # first line of a graph file, for editors with the YAML language server:
  # yaml-language-server: $schema=graphrun.schema.json`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			return writeJSON(a.Stdout, spec.Schema(spec.Options{}), true)
		},
	}
	enumFlag(cmd, cmd.Flags(), &output, "output", "o", "form of the output: there is one")
	return cmd
}
