// Paths on which something is not made, for messages.

package lint

// path finds a shortest way from the start to v on which a thing is not made;
// nil when there is none.
func (a *assignment) path(thing, v int) []int {
	from := make([]int, a.k.graph.Len())
	for i := range from {
		from[i] = -1
	}
	start := a.f.start()
	todo := []int{v}
	from[v] = v
	for len(todo) > 0 && from[start] < 0 {
		x := todo[0]
		todo = todo[1:]
		for _, e := range a.into[x] {
			if from[e.from] < 0 && a.left(e, thing/64)&(1<<(thing%64)) != 0 {
				from[e.from] = x
				todo = append(todo, e.from)
			}
		}
	}
	if from[start] < 0 {
		return nil
	}
	var path []int
	for x := start; ; x = from[x] {
		if x < a.k.first {
			path = append(path, x)
		}
		if x == v {
			return path
		}
	}
}

// pathText is a path as messages print it, shortened in the middle.
func (f *facts) pathText(path []int) string {
	const most = 8
	text := ""
	for i, v := range path {
		switch {
		case len(path) > most && i == most/2:
			text += " → …"
			continue
		case len(path) > most && i > most/2 && i < len(path)-most/2+1:
			continue
		case i > 0:
			text += " → "
		}
		text += f.name(v)
	}
	return text
}
