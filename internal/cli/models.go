// The models command: known models and their prices.

package cli

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/internal/inspect"
)

func newModelsCommand(a *app) *cobra.Command {
	return withOutput(&cobra.Command{
		Use:   "models",
		Short: "List the models with known prices",
		Long: `models lists the models whose prices are known: how many tokens their context and their
answers hold (? means unknown), and the price in US dollars of a million tokens, sent,
read from the provider's cache and answered, with the day and the page of the price. You
can use other models too, but not under limits.max_cost_usd unless their provider
declares prices.`,
		Example: `  graphrun models
  graphrun models -o json`,
		Args:    cobra.NoArgs,
		PreRunE: noSettings,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list := inspect.ListModels()
			if formatOf(cmd) == "json" {
				return writeJSON(a.Stdout, list, true)
			}
			return a.printModels(list)
		},
	})
}

func (a *app) printModels(list []inspect.KnownModel) error {
	var rows [][]string
	for i, m := range list {
		prompts := "any"
		switch {
		case m.FromTokens != nil:
			prompts = fmt.Sprintf("from %d", *m.FromTokens)
		case m.UpToTokens != nil:
			prompts = fmt.Sprintf("to %d", *m.UpToTokens)
		}
		window, answer := tokensText(m.Window), tokensText(m.MaxOutput)
		rows = append(rows, []string{m.Model, window, answer, dollars(m.Input), dollars(m.CachedInput), dollars(m.Output), prompts, m.Date, m.Source})
		if m.UpToTokens != nil && m.Window != nil && *m.Window > *m.UpToTokens && (i+1 == len(list) || list[i+1].Model != m.Model) {
			rows = append(rows, []string{m.Model, window, answer, "?", "?", "?", fmt.Sprintf("from %d", *m.UpToTokens+1), "", ""})
		}
	}
	return a.printTable("", []string{"MODEL", "WINDOW", "ANSWER", "INPUT", "CACHED", "OUTPUT", "PROMPTS", "DATE", "SOURCE"}, rows)
}

func tokensText(n *int) string {
	if n == nil {
		return "?"
	}
	return strconv.Itoa(*n)
}

func dollars(n float64) string { return "$" + strconv.FormatFloat(n, 'f', -1, 64) }
