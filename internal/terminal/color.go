// Colours of text on a terminal.

package terminal

import "github.com/fatih/color"

// Colors paint parts of a text.
type Colors struct {
	Strong, Quiet, Good, Bad, Warn, Info func(a ...any) string
	StrongGood, StrongBad, StrongWarn    func(a ...any) string
}

// NewColors returns colours, or functions that change nothing if on is false.
func NewColors(on bool) Colors {
	paint := func(attributes ...color.Attribute) func(a ...any) string {
		c := color.New(attributes...)
		if on {
			c.EnableColor()
		} else {
			c.DisableColor()
		}
		return c.SprintFunc()
	}
	return Colors{
		Strong: paint(color.Bold), Quiet: paint(color.FgHiBlack), Good: paint(color.FgGreen),
		Bad: paint(color.FgRed), Warn: paint(color.FgYellow), Info: paint(color.FgCyan),
		StrongGood: paint(color.FgGreen, color.Bold), StrongBad: paint(color.FgRed, color.Bold), StrongWarn: paint(color.FgYellow, color.Bold),
	}
}
