package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// What holds for every command: help with an example, and a form of the output.
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

// TestOtherWords: what is suggested is there, and is no word of another.
func TestOtherWords(t *testing.T) {
	root, seen := newRoot(&app{}), map[string]bool{}
	for _, other := range commandSynonyms {
		command, _, _ := strings.Cut(other.command, " --")
		if c, rest, err := root.Find(strings.Fields(command)); err != nil || c == root || len(rest) > 0 {
			t.Errorf("there is no %q", other.command)
		}
		for _, word := range other.words {
			if seen[word] {
				t.Errorf("%q stands for two commands", word)
			}
			seen[word] = true
		}
	}
}
