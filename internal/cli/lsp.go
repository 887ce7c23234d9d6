// The lsp command: the language server for editors.

package cli

import (
	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/internal/lsp"
)

func newLSPCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "lsp",
		Short: "Serve an editor: the language server, over stdio",
		Long: `lsp speaks the Language Server Protocol on stdin and stdout: the findings of validate as
you type, with its fixes; what a name or a key is; names, keys and values to complete;
where a name is declared and used, and renaming it; an outline; formatting as fmt does.
Editors start it; the settings of the nearest graphrun.yaml hold.`,
		Example: `  # Neovim
  vim.lsp.config("graphrun", { cmd = { "graphrun", "lsp" }, filetypes = { "yaml", "json" } })
  vim.lsp.enable("graphrun")`,
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		PreRunE:           a.loadSettings,
		RunE: func(cmd *cobra.Command, _ []string) error {
			in, out := lsp.Stdio()
			server := lsp.New(lsp.Options{Version: readBuildVersion().Version, Optional: a.rules.Optional(nil), Shown: a.rules.Shown})
			return server.Serve(cmd.Context(), in, out)
		},
	}
}
