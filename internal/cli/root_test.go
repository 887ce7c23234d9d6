package cli

import (
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
		case "graphrun", "runs", "sessions", "cache", "completion", "help": // they have commands of their own, or print for a shell
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
