// Logs of programs and models, which are kept beside the payloads.

package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"golang.org/x/sync/errgroup"

	"github.com/graphrun/graphrun/runner/store"
)

// maxReads is how many logs are read at once.
const maxReads = 16

// logsFolder begins the names of all logs.
const logsFolder = "logs/"

// logFolder returns the name of the logs of a run.
func logFolder(runID string) string {
	return logsFolder + strings.NewReplacer("/", "_", "..", "_").Replace(runID)
}

// readLogs returns the chunks of a run by time.
func readLogs(b blobs, runID string) (out []store.LogChunk, err error) {
	names, err := b.list(logFolder(runID))
	if err != nil {
		return nil, err
	}
	var reads errgroup.Group
	reads.SetLimit(maxReads)
	texts := make([][]byte, len(names))
	for i, name := range names {
		reads.Go(func() (err error) {
			texts[i], err = b.get(name)
			return err
		})
	}
	if err := reads.Wait(); err != nil {
		return nil, err
	}
	for line := range bytes.Lines(slices.Concat(texts...)) {
		var c store.LogChunk
		if err := json.Unmarshal(line, &c); err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	slices.SortStableFunc(out, func(a, b store.LogChunk) int { return a.Time.Compare(b.Time) })
	for i := range out {
		out[i].Seq = int64(i + 1)
	}
	return out, nil
}

// logEvery is how long a chunk waits for more of them.
const logEvery = time.Second

// taskLog is the log of an activity: several blobs, because they do not grow, with a LogChunk
// per line. A log that can't be written stops nothing.
type taskLog struct {
	blobs blobs
	name  string // of the blobs, before their number
	parts int
	stop  func() // ends the goroutine that sends

	mu    sync.Mutex
	lines []byte // to be sent
}

func newTaskLog(ctx context.Context, b blobs, in *taskInput) *taskLog {
	info := activity.GetInfo(ctx)
	l := &taskLog{blobs: b, name: fmt.Sprintf("%s/%s-%s-%d", logFolder(in.Task.RunID), info.WorkflowExecution.RunID[:8], in.ID, info.Attempt)}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var sender sync.WaitGroup
	sender.Go(func() {
		for pause(ctx, logEvery) == nil {
			l.send()
		}
	})
	l.stop = func() {
		cancel()
		sender.Wait()
	}
	return l
}

// add adds a chunk, which is sent a moment later.
func (l *taskLog) add(c *store.LogChunk) {
	line, err := json.Marshal(c)
	if err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(append(l.lines, line...), '\n')
}

// send sends the lines. If that fails, they are sent the next time.
func (l *taskLog) send() {
	l.mu.Lock()
	text := l.lines
	l.lines = nil
	l.mu.Unlock()
	if len(text) == 0 {
		return
	}
	if err := l.blobs.put(fmt.Sprintf("%s-%06d.jsonl", l.name, l.parts), text); err == nil {
		l.parts++
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(text, l.lines...)
}

// close sends the rest.
func (l *taskLog) close() {
	l.stop()
	l.send()
}

// maxLogged is how many bytes of a stream are kept.
const maxLogged = 128 << 10

// stream is one text that a task says.
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
	return &stream{job: j, about: store.LogChunk{
		Node: in.Node, Place: in.Place, Visit: in.Visit, Attempt: in.Attempt, Source: source, Stream: name, Call: j.streams.Add(1),
	}}
}

// Write keeps whole lines; it never fails.
func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rest = append(s.rest, p...)
	if at := bytes.LastIndexByte(s.rest, '\n'); at >= 0 {
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
		s.job.log.add(&c)
	}
	s.offset += int64(len(c.Text))
}
