// What programs and models say on the workers: beside the payloads.

package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/graphrun/graphrun/runner/store"
)

// readLogs are the chunks of a run, in the order of their times. Each activity has a log,
// with a LogChunk a line.
func readLogs(b blobs, runID string) ([]store.LogChunk, error) {
	texts, err := b.readLogs(runID)
	if err != nil {
		return nil, err
	}
	var out []store.LogChunk
	for _, text := range texts {
		for line := range bytes.Lines(text) {
			var c store.LogChunk
			if json.Unmarshal(line, &c) == nil { // else the worker ended in it
				out = append(out, c)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b store.LogChunk) int { return a.Time.Compare(b.Time) })
	for i := range out {
		out[i].Seq = int64(i + 1)
	}
	return out, nil
}

// maxLogged bounds what is kept of a stream: its beginning.
const maxLogged = 128 << 10

// stream is what a task says in one way.
type stream struct {
	job    *job
	about  store.LogChunk
	mu     sync.Mutex
	offset int64
	rest   []byte
}

// openLog begins a stream.
func (j *job) openLog(source, name string) io.WriteCloser {
	in := &j.in.Task
	j.mu.Lock()
	defer j.mu.Unlock()
	j.streams++
	return &stream{job: j, about: store.LogChunk{
		Node: in.Node, Place: in.Place, Visit: in.Visit, Attempt: in.Attempt, Source: source, Stream: name, Call: j.streams,
	}}
}

// Write keeps whole lines; it never fails.
func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rest = append(s.rest, p...)
	if at := strings.LastIndexByte(string(s.rest), '\n'); at >= 0 {
		s.keep(s.rest[:at+1], false)
		s.rest = slices.Clone(s.rest[at+1:])
	}
	return len(p), nil
}

// Close ends the stream.
func (s *stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(s.rest, true)
	s.rest = nil
	return nil
}

func (s *stream) keep(text []byte, end bool) {
	c := s.about
	c.Time, c.Offset, c.Text, c.End = time.Now(), s.offset, string(text), end
	_ = s.job.secrets.mask(&c)
	if s.offset < maxLogged && len(text) > 0 || end && s.offset > 0 {
		s.job.keepLog(&c)
	}
	s.offset += int64(len(c.Text))
}

// keepLog appends a chunk to the log of the job. A log that can't be written stops
// nothing.
func (j *job) keepLog(c *store.LogChunk) {
	text, err := json.Marshal(c)
	if err != nil {
		return
	}
	j.logging.Lock()
	defer j.logging.Unlock()
	if j.log == nil {
		info := activity.GetInfo(j.ctx)
		name := fmt.Sprintf("%s-%s-%d.jsonl", info.WorkflowExecution.RunID[:8], j.in.ID, info.Attempt)
		if j.log, err = j.worker.blobs.openLog(j.in.Task.RunID, name); err != nil {
			j.log = nil
			return
		}
	}
	_, _ = j.log.Write(append(text, '\n'))
}

// closeLog ends the log.
func (j *job) closeLog() {
	j.logging.Lock()
	defer j.logging.Unlock()
	if j.log != nil {
		_ = j.log.Close()
	}
}
