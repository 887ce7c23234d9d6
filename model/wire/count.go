// Numbers of tokens as servers write them.

package wire

import (
	"strconv"
	"strings"
)

// Count is a number that servers also write as 12.0, "12" or null.
type Count int

// UnmarshalJSON reads any of them; what is no number is 0.
func (c *Count) UnmarshalJSON(text []byte) error {
	n, err := strconv.ParseFloat(strings.Trim(string(text), `"`), 64)
	if *c = 0; err == nil && n > -(1<<62) && n < 1<<62 {
		*c = Count(n)
	}
	return nil
}
