// Logs of programs and models in the payload store.

package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"
	"golang.org/x/sync/errgroup"

	"github.com/graphrun/graphrun/runner/store"
)

// maxReads is how many logs are read at once.
const maxReads = 16

// logsFolder begins the names of all logs.
const logsFolder = "logs/"

func logFolder(runID string) string { return logsFolder + escapeID(runID) }

// recordingFolder returns the name of the recordings of a run.
func recordingFolder(runID string) string { return "recordings/" + escapeID(runID) }

// escapeID makes the name of a folder from a run id.
func escapeID(runID string) string { return strings.NewReplacer("/", "_", "..", "_").Replace(runID) }

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

const (
	// logEvery is the time between two blobs of a task.
	logEvery = time.Second
	// logHead is the offset after which only the end of a stream is stored.
	logHead = 64 << 10
)

// taskLog stores the log of an activity in several blobs, with a LogChunk per line. It ignores errors.
type taskLog struct {
	blobs  blobs
	name   string // of the blobs, before their number
	parts  int
	unsent []byte
	number int64            // of the last chunk
	tail   []store.LogChunk // the ends of streams
}

func newTaskLog(ctx context.Context, b blobs, in *taskInput) *taskLog {
	info := activity.GetInfo(ctx)
	return &taskLog{blobs: b, name: fmt.Sprintf("%s/%s-%s-%d", logFolder(in.Task.RunID), info.WorkflowExecution.RunID[:8], in.ID, info.Attempt)}
}

// AppendLog sends chunks. It keeps the ends of streams for closeLog.
func (l *taskLog) AppendLog(_ string, chunks []store.LogChunk, drop []int64) (first int64, err error) {
	first = l.number + 1
	for _, c := range chunks {
		l.number++
		if c.Seq = l.number; c.Offset < logHead {
			l.addChunk(&c)
		} else {
			l.tail = append(l.tail, c)
		}
	}
	l.tail = slices.DeleteFunc(l.tail, func(c store.LogChunk) bool { return slices.Contains(drop, c.Seq) })
	l.sendBlob()
	return first, nil
}

func (l *taskLog) addChunk(c *store.LogChunk) {
	if line, err := json.Marshal(c); err == nil {
		l.unsent = append(append(l.unsent, line...), '\n')
	}
}

// sendBlob sends a blob. If that fails, its text is sent with the next one.
func (l *taskLog) sendBlob() {
	if len(l.unsent) > 0 && l.blobs.put(fmt.Sprintf("%s-%06d.jsonl", l.name, l.parts), l.unsent) == nil {
		l.parts, l.unsent = l.parts+1, nil
	}
}

func (l *taskLog) closeLog() {
	for i := range l.tail {
		l.addChunk(&l.tail[i])
	}
	l.sendBlob()
}
