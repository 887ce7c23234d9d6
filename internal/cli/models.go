// The models command: which models are known, and what they cost.

package cli

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/model/price"
)

// knownModel is a model as `models -o json` lists it. Prices are in US dollars for
// a million tokens.
type knownModel struct {
	Model       string  `json:"model"`
	Window      *int    `json:"window"`     // tokens; null: not known
	MaxOutput   *int    `json:"max_output"` // tokens that an answer can have; null: not known
	Input       float64 `json:"input"`
	CachedInput float64 `json:"cached_input"`
	CacheWrite  float64 `json:"cache_write"`
	Output      float64 `json:"output"`
	// FromTokens and UpToTokens are the lengths of prompts that the prices hold for;
	// null: any length.
	FromTokens *int   `json:"from_tokens"`
	UpToTokens *int   `json:"up_to_tokens"`
	Date       string `json:"date"`
	Source     string `json:"source"`
}

func newModelsCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
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
			list := knownModels()
			if formatOf(cmd) == "json" {
				return writeJSON(a.Stdout, list, true)
			}
			return a.printModels(list)
		},
	}
	outputFlag(cmd)
	return cmd
}

func knownModels() []knownModel {
	var out []knownModel
	for _, r := range price.Table() {
		m := knownModel{
			Model: r.Model, Window: orNull(r.Window), MaxOutput: orNull(r.MaxOutput), Input: r.Input, CachedInput: r.CachedInput,
			CacheWrite: r.CacheWrite, Output: r.Output, UpToTokens: orNull(r.UpTo), Date: r.Date, Source: r.Source,
		}
		if r.Long { // it stands behind the model's other row
			before := &out[len(out)-1]
			from := *before.UpToTokens + 1
			m.FromTokens, m.Window = &from, before.Window
		}
		out = append(out, m)
	}
	return out
}

func orNull(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}

func (a *app) printModels(list []knownModel) error {
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
