// The garbage collector of a process that checks files and ends.

package cli

import (
	"cmp"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
)

const (
	// largeFile is how many bytes a file has for which collecting often shows.
	largeFile = 256 << 10
	// room, and perByte or perJSONByte, are how much memory the checks of large files
	// are given, and how much more for each of their bytes, before garbage is collected
	// at all costs: what they hold, and about half as much again. JSON is read without
	// the tree that the YAML library makes. Beyond enough for all that, JSON gets
	// tightJSON: hardly more than what is held.
	room        = 28 << 20
	perByte     = 50
	perJSONByte = 34
	tightJSON   = 20
	enough      = 147 << 20
	// rare is the growth of the heap, in percent, after which it is collected
	// while there is room: that of large files.
	rare = 400
	// hardly is the same for few small files, and ample their room: the checks of nearly
	// all of them end before the first collection, at 64 MB.
	hardly = 1600
	ample  = 96 << 20
	// seldom is the same for many files that are small: some 40 MB in all instead of the 27 by
	// Go's default save a third of the time.
	seldom = 400
	many   = 16
)

// setCollector lets garbage lie while files are checked. With large ones, it does up to
// a multiple of their sizes: the limit makes the peak the same each time, and is reached only
// towards the end. It returns what undoes that. Whoever has set the collector in
// the environment knows better.
func setCollector(sources []source) (undo func()) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	type file struct{ size, memory, tight int }
	files := make([]file, 0, len(sources))
	for i := range sources {
		size, per, tight := sources[i].size(), perByte, perByte
		if filepath.Ext(sources[i].name) == ".json" {
			per, tight = perJSONByte, tightJSON
		}
		files = append(files, file{size, per * size, tight * size})
	}
	slices.SortFunc(files, func(a, b file) int { return cmp.Compare(a.size, b.size) })
	atOnce := files[max(0, len(files)-runtime.GOMAXPROCS(0)):]
	total, tight := 0, 0
	for _, f := range atOnce {
		total, tight = total+f.memory, tight+f.tight
	}
	total = max(tight, min(total, enough))
	growth, most := rare, int64(room+total)
	switch {
	case len(atOnce) == 0:
		return func() {}
	case atOnce[len(atOnce)-1].size >= largeFile:
	case len(sources) >= many:
		percent := debug.SetGCPercent(seldom)
		return func() { debug.SetGCPercent(percent) }
	default:
		growth, most = hardly, ample
	}
	percent, limit := debug.SetGCPercent(growth), debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		debug.SetMemoryLimit(most)
	}
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}

// size is the number of bytes of a source; 0 when its file can't be looked at.
func (s *source) size() int {
	if s.src != nil {
		return len(s.src)
	}
	info, err := os.Stat(s.name)
	if err != nil {
		return 0
	}
	return int(min(info.Size(), math.MaxInt32))
}
