// How much room plain data takes.

package eval

// Size is roughly the room that canonical data takes: 16 bytes for every value,
// and the bytes of its texts and of the names of its fields. A part counts
// wherever it stands, even if it is shared. What takes more than most does not
// fit; counting ends when that shows, and size is then most + 1.
func Size(v any, most int) (size int, fits bool) {
	switch x := v.(type) {
	case string:
		size = bytesPerNode + len(x)
	case []any:
		size = bytesPerNode
		for _, e := range x {
			part, ok := Size(e, most-size)
			if !ok {
				return most + 1, false
			}
			size += part
		}
	case map[string]any:
		size = bytesPerNode
		for name, e := range x {
			part, ok := Size(e, most-size-len(name))
			if !ok {
				return most + 1, false
			}
			size += part + len(name)
		}
	default:
		size = bytesPerNode
	}
	if size > most {
		return most + 1, false
	}
	return size, true
}
