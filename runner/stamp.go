// The time and the run, which every line says.

package runner

import (
	"encoding/binary"
	"time"
)

// stamp is what says the time and the run. Mostly only the microseconds differ
// from the line before: they are changed in place.
type stamp struct {
	second  int64 // in Unix nanoseconds
	runID   string
	micro   int    // where in text the microseconds stand
	micros  uint64 // their digits, the first in the lowest byte
	text    []byte // `,"time":…,"run_id":…`
	counter counter
	// version is another one for each text that differs in more.
	version int
}

// set sets the time of the lines that follow, in Unix nanoseconds.
func (s *stamp) set(at int64) {
	since := at - s.second
	if since < 0 || since >= int64(time.Second) || len(s.text) == 0 {
		when := time.Unix(0, at)
		since = int64(when.Nanosecond())
		s.second = at - since
		s.text = appendTime(append(s.text[:0], `,"time":"`...), when)
		s.micro = len(s.text) - len("000000Z")
		s.text = appendString(append(s.text, `","run_id":`...), s.runID)
		s.version++
	}
	const first = 1_000_000 // in front of the zeros that lead
	s.micros = s.counter.word(first+uint32(since)/1000) >> 8
	binary.LittleEndian.PutUint16(s.text[s.micro:], uint16(s.micros))
	binary.LittleEndian.PutUint32(s.text[s.micro+2:], uint32(s.micros>>16))
}
