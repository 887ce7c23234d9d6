// Pieces of what programs and models said.

package store

import (
	"errors"
	"fmt"
	"time"
)

// LogChunk is a piece of what a program or a model said.
type LogChunk struct {
	// Seq is its place in the log of the run, from 1.
	Seq  int64
	Time time.Time
	// Node is the path of the node. Place is as in runner.Task.
	Node    string
	Place   string
	Visit   int
	Attempt int
	// Source is the tool or the server of tools that spoke; "": the node's own
	// program or model.
	Source string
	// Stream is "stdout", "stderr" or "text".
	Stream string
	// Call tells streams of the same name apart.
	Call int64
	// Offset is how many bytes of the stream came before. A chunk that does not
	// begin where the one before it ended says that what was between is not kept:
	// runner.Runner.Logs says in Cut how many bytes that is.
	Offset int64
	Cut    int64
	Text   string
	// End says that the stream has ended with this chunk, whose text may be empty.
	End bool
}

// savedChunk is a chunk as JSON. Its text need not be UTF-8.
type savedChunk struct {
	LogChunk
	Text []byte
}

// logKey is the key of a run's last number. The keys of its chunks continue it.
func logKey(runID string) string { return keyOf("log", runID) }

func chunkKey(runID string, seq int64) string { return fmt.Sprintf("%s/%016x", logKey(runID), seq) }

func deleteLog(tx Tx, runID string) error {
	return errors.Join(tx.Delete(logKey(runID)), tx.DeleteAll(logKey(runID)+"/"))
}

// AppendLog stores chunks and deletes others. Its transaction is lazy: the next step that
// waits for the disk takes along what was said before.
func (s *KVStore) AppendLog(runID string, chunks []LogChunk, drop []int64) (first int64, err error) {
	err = s.kv().Update(true, func(tx Tx) error {
		if _, err := getRun(tx, runID); err != nil {
			return err
		}
		var last int64
		if _, err := getJSON(tx, logKey(runID), &last); err != nil {
			return err
		}
		first = last + 1
		for _, seq := range drop {
			if err := tx.Delete(chunkKey(runID, seq)); err != nil {
				return err
			}
		}
		for i := range chunks {
			last++
			saved := savedChunk{chunks[i], []byte(chunks[i].Text)}
			saved.Seq = last
			if err := putJSON(tx, chunkKey(runID, last), saved); err != nil {
				return err
			}
		}
		return putJSON(tx, logKey(runID), last)
	})
	return first, err
}

// Log returns chunks with numbers after one.
func (s *KVStore) Log(runID string, after int64, limit int) ([]LogChunk, error) {
	var pairs []Pair
	err := s.kv().View(func(tx Tx) (err error) {
		if _, err = getRun(tx, runID); err == nil {
			pairs, err = collect(tx, logKey(runID)+"/", chunkKey(runID, max(after, 0)), limit)
		}
		return err
	})
	var out []LogChunk
	for _, p := range pairs {
		var saved savedChunk
		if err := decodeJSON(p, &saved); err != nil {
			return nil, err
		}
		saved.LogChunk.Text, saved.Time = string(saved.Text), saved.Time.Local()
		out = append(out, saved.LogChunk)
	}
	return out, err
}
