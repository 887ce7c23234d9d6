package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Every command has help with an example, and an output format.
func TestCommands(t *testing.T) {
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		if c.Example == "" || c.Long == "" {
			t.Errorf("%s has no example or no help", c.CommandPath())
		}
		switch c.Name() {
		case "graphrun", "runs", "sessions", "cache", "completion", "help", "worker", "mcp", "lsp": // they have commands of their own, print for a shell or a protocol, or give nothing
		default:
			if f := c.Flags().Lookup("output"); f == nil || f.Shorthand != "o" {
				t.Errorf("%s has no -o", c.CommandPath())
			}
		}
		if c.Name() != "completion" {
			for _, sub := range c.Commands() {
				visit(sub)
			}
		}
	}
	visit(newRoot(&app{}))
}

// TestSynonyms checks that the suggested commands exist.
func TestSynonyms(t *testing.T) {
	root := newRoot(&app{})
	for word, other := range synonyms {
		command, _, _ := strings.Cut(other, " --")
		if c, rest, err := root.Find(strings.Fields(command)); err != nil || c == root || len(rest) > 0 {
			t.Errorf("%s: there is no %q", word, other)
		}
	}
}
