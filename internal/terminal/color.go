// Colours of text.

package terminal

import "github.com/fatih/color"

// Painter returns a function that paints text, or leaves it plain unless on is true.
func Painter(on bool, attributes ...color.Attribute) func(a ...any) string {
	c := color.New(attributes...)
	if on {
		c.EnableColor()
	} else {
		c.DisableColor()
	}
	return c.SprintFunc()
}
