// The lsp command: the language server for editors.

package cli

import (
	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/internal/lsp"
)

func newLSPCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lsp",
		Short: "Run the language server for editors, over stdio",
		Long: `lsp serves the Language Server Protocol on stdin and stdout: the findings and fixes of
validate as you type, hover, completion, definition, references, rename, an outline, and
the formatting of fmt. Editors start it. It reads the settings of the nearest graphrun.yaml.`,
		Example: `  # Neovim
  vim.lsp.config("graphrun", { cmd = { "graphrun", "lsp" }, filetypes = { "yaml", "json" } })
  vim.lsp.enable("graphrun")`,
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		PreRunE:           a.loadSettings,
		RunE: func(cmd *cobra.Command, _ []string) error {
			server := lsp.New(lsp.Options{Version: readBuildVersion().Version, Optional: a.rules.Optional(nil), Shown: a.rules.Shown})
			return server.Serve(cmd.Context(), a.Stdin, a.Stdout)
		},
	}
	cmd.Flags().Bool("stdio", true, "use stdin and stdout, which is all there is; clients such as VS Code's pass it")
	return cmd
}
