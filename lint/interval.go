// Intervals of numbers.

package lint

import "math"

// interval is the numbers from lo to hi, both among them where they are finite; null says
// that there may be no number. Where lo is above hi there is none at all.
type interval struct {
	lo, hi float64
	null   bool
}

var anyNumber = interval{math.Inf(-1), math.Inf(1), false}

func (a interval) empty() bool { return a.lo > a.hi && !a.null }

// sane is all numbers in the place of what can't be computed.
func (a interval) sane() interval {
	if math.IsNaN(a.lo) || math.IsNaN(a.hi) {
		return interval{anyNumber.lo, anyNumber.hi, a.null}
	}
	return a
}

func (a interval) plus(b interval) interval { return interval{a.lo + b.lo, a.hi + b.hi, false}.sane() }

func (a interval) negative() interval { return interval{-a.hi, -a.lo, false} }

func (a interval) or(b interval) interval {
	return interval{min(a.lo, b.lo), max(a.hi, b.hi), a.null || b.null}
}

func (a interval) and(b interval) interval {
	return interval{max(a.lo, b.lo), min(a.hi, b.hi), a.null && b.null}
}

// within forgets how far numbers are from 0 that are farther than that.
func (a interval) within(farthest float64) interval {
	switch {
	case a.lo > farthest:
		a.lo = farthest
	case a.lo < -farthest:
		a.lo = math.Inf(-1)
	}
	switch {
	case a.hi < -farthest:
		a.hi = -farthest
	case a.hi > farthest:
		a.hi = math.Inf(1)
	}
	return a
}

// integers is what of an interval is whole.
func (a interval) integers() interval { return interval{math.Ceil(a.lo), math.Floor(a.hi), a.null} }

// compared is what of an interval may stand at the left of a comparison that is true;
// whole says that it has integers only.
func (a interval) compared(op string, with interval, whole bool) interval {
	none := interval{1, 0, false}
	switch op {
	case "<":
		if a.lo >= with.hi {
			return none
		}
		if a.hi = min(a.hi, with.hi); whole {
			a.hi = min(a.hi, math.Ceil(with.hi)-1)
		}
	case "<=":
		a.hi = min(a.hi, with.hi)
	case ">":
		if a.hi <= with.lo {
			return none
		}
		if a.lo = max(a.lo, with.lo); whole {
			a.lo = max(a.lo, math.Floor(with.lo)+1)
		}
	case ">=":
		a.lo = max(a.lo, with.lo)
	case "==":
		a.lo, a.hi = max(a.lo, with.lo), min(a.hi, with.hi)
	case "!=":
		return a.except(with, whole)
	}
	if a.null = false; whole {
		return a.integers()
	}
	return a
}

// except is what of an interval is not a number.
func (a interval) except(n interval, whole bool) interval {
	switch {
	case n.lo != n.hi:
	case a.lo == n.lo && a.hi == n.lo:
		return interval{1, 0, a.null}
	case a.lo == n.lo && whole:
		a.lo++
	case a.hi == n.lo && whole:
		a.hi--
	}
	return a
}
