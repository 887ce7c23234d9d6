// Cron schedules, also across changes between standard and daylight saving time.

package trigger

import (
	"fmt"
	"strings"
	"time"

	"github.com/adhocore/gronx"
)

// Schedule is a cron expression in a time zone: minute, hour, day of the month, month,
// day of the week.
//
// A time of day that the clocks skip runs after the change. One that occurs twice runs once,
// the first time. Expressions for every hour or every few minutes follow elapsed time.
type Schedule struct {
	expr   string
	zone   *time.Location
	hourly bool
}

// NewSchedule parses an expression.
func NewSchedule(expr string, zone *time.Location) (*Schedule, error) {
	fields := strings.Fields(expr)
	if strings.HasPrefix(expr, "@") {
		fields, _ = gronx.Segments(expr) // checked below
		fields = fields[max(0, len(fields)-6):]
		if len(fields) > 5 {
			fields = fields[1:6] // the library expects seconds first
		}
	}
	if !gronx.IsValid(expr) || len(fields) != 5 {
		return nil, fmt.Errorf("cron %q is not an expression of five fields, such as \"30 2 * * 1-5\", nor one such as @daily", expr)
	}
	return &Schedule{strings.Join(fields, " "), zone, strings.HasPrefix(fields[1], "*")}, nil
}

// String returns the expression.
func (s *Schedule) String() string { return s.expr }

// Zone returns the name of the time zone.
func (s *Schedule) Zone() string { return s.zone.String() }

// Next returns the first scheduled time after another time, or the zero time.
func (s *Schedule) Next(after time.Time) time.Time {
	_, offset := after.In(s.zone).Zone()
	wall := convertToWallTime(after, offset)
	for range 4 {
		next, err := gronx.NextTickAfter(s.expr, wall, false)
		if err != nil {
			return time.Time{}
		}
		if s.hourly {
			at := next.Add(-time.Duration(offset) * time.Second)
			_, now := at.In(s.zone).Zone()
			if now == offset {
				return at
			}
			// The clocks change before that time: continue with the new offset.
			change := s.findClockChange(after, at, offset)
			offset, wall = now, convertToWallTime(change.Add(-time.Second), now)
			continue
		}
		at := time.Date(next.Year(), next.Month(), next.Day(), next.Hour(), next.Minute(), 0, 0, s.zone)
		if earlier := at.Add(-time.Hour); hasSameWallTime(earlier.In(s.zone), next) {
			at = earlier // the first of two
		}
		if at.After(after) {
			return at
		}
		wall = next // it is the second of two, or the clocks skip it
	}
	return time.Time{}
}

// convertToWallTime returns a time as shown by a clock that is some seconds ahead of UTC.
func convertToWallTime(t time.Time, offset int) time.Time {
	return t.UTC().Add(time.Duration(offset) * time.Second).Truncate(time.Second)
}

func hasSameWallTime(t, wall time.Time) bool {
	return t.Day() == wall.Day() && t.Hour() == wall.Hour() && t.Minute() == wall.Minute()
}

// findClockChange returns the first second between two times at which the clock offset has changed.
func (s *Schedule) findClockChange(from, to time.Time, offset int) time.Time {
	for to.Sub(from) > time.Second {
		middle := from.Add(to.Sub(from) / 2)
		if _, at := middle.In(s.zone).Zone(); at == offset {
			from = middle
		} else {
			to = middle
		}
	}
	return to.Truncate(time.Second)
}
