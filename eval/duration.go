// Durations as people write them.

package eval

import (
	"strings"
	"time"
)

// DurationText writes a duration as in a file: 1m, not 1m0s; 1h30m, 1.5s, 250ms, 0s.
func DurationText(d time.Duration) string {
	s := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, zero) {
			s = s[:len(s)-2]
		}
	}
	return s
}
