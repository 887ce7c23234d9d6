// Times of a schedule, over changes of the clocks too.

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
// A time of day that the clocks skip is when they have gone forward, one that comes
// twice is the first of the two. An expression for every hour, or every few, goes by
// the time that passes.
type Schedule struct {
	expr   string
	zone   *time.Location
	hourly bool
}

// NewSchedule reads an expression.
func NewSchedule(expr string, zone *time.Location) (*Schedule, error) {
	fields := strings.Fields(expr)
	if strings.HasPrefix(expr, "@") {
		fields, _ = gronx.Segments(expr) // checked below
		fields = fields[max(0, len(fields)-6):]
		if len(fields) > 5 {
			fields = fields[1:6] // seconds stand before
		}
	}
	if !gronx.IsValid(expr) || len(fields) != 5 {
		return nil, fmt.Errorf("cron %q is no expression of five fields, such as \"30 2 * * 1-5\", nor one such as @daily", expr)
	}
	return &Schedule{strings.Join(fields, " "), zone, strings.HasPrefix(fields[1], "*")}, nil
}

// String is the expression.
func (s *Schedule) String() string { return s.expr }

// Zone is the name of the time zone.
func (s *Schedule) Zone() string { return s.zone.String() }

// Next is the first time after a moment; zero: there is none.
func (s *Schedule) Next(after time.Time) time.Time {
	_, offset := after.In(s.zone).Zone()
	// On a clock that nobody changes.
	wall := floating(after, offset)
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
			// The clocks change before it: from there on, by the new time.
			change := s.change(after, at, offset)
			offset, wall = now, floating(change.Add(-time.Second), now)
			continue
		}
		at := time.Date(next.Year(), next.Month(), next.Day(), next.Hour(), next.Minute(), 0, 0, s.zone)
		if earlier := at.Add(-time.Hour); sameWall(earlier.In(s.zone), next) {
			at = earlier // of two
		}
		if at.After(after) {
			return at
		}
		wall = next // it was the second of two, or skipped
	}
	return time.Time{}
}

// floating is a moment as a clock shows it that is some seconds ahead of UTC.
func floating(t time.Time, offset int) time.Time {
	return t.UTC().Add(time.Duration(offset) * time.Second).Truncate(time.Second)
}

func sameWall(t, wall time.Time) bool {
	return t.Day() == wall.Day() && t.Hour() == wall.Hour() && t.Minute() == wall.Minute()
}

// change is the first second between two moments at which the clocks differ from what
// they were.
func (s *Schedule) change(from, to time.Time, offset int) time.Time {
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
