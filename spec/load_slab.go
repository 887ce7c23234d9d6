// Room for many short slices.

package spec

// slab cuts short slices from long ones: a file has thousands of small maps, and
// asking the allocator for each is most of what they cost.
type slab[T any] struct {
	free []T
	step int // length of the long slices
}

// The long slices of both kinds are just below 8 KiB, a size that the allocator
// does not round up.
const (
	fewest     = 4
	mostFields = 56
	mostItems  = 78
)

// newSlab is a slab for at least about so many elements, which takes memory for
// at most so many at a time.
func newSlab[T any](guess, most int) slab[T] {
	return slab[T]{step: max(fewest, min(guess, most))}
}

// take returns a slice of length 0 and capacity n; nil when n is 0.
func (s *slab[T]) take(n int) []T {
	switch {
	case n == 0:
		return nil
	case n > s.step/4:
		return make([]T, 0, n)
	case n > len(s.free):
		s.free = make([]T, s.step)
	}
	out := s.free[:0:n]
	s.free = s.free[n:]
	return out
}
