// The log of a run: the output of its programs and models.

package store

import (
	"cmp"
	"time"
)

// LogChunk is a piece of the output of a program or a model.
type LogChunk struct {
	// Seq is the chunk's number in the log of the run, from 1.
	Seq  int64
	Time time.Time
	// Node is the path of the node. For Place see runner.Task.
	Node    string
	Place   string
	Visit   int
	Attempt int
	// Source is a tool or a server of tools, or "" for the program or model of the node.
	Source string
	// Stream is "stdout", "stderr" or "text".
	Stream string
	// Call is the number of the stream in the run.
	Call int64
	// Offset counts the stream's earlier bytes, Cut those lost since the last chunk.
	Offset int64
	Cut    int64
	Text   string
	// End means that this chunk ends the stream. Its text may be empty.
	End bool
}

// savedChunk is a chunk as JSON. Its text may be invalid UTF-8, so it is saved in base64.
type savedChunk struct {
	LogChunk
	Text []byte
}

func logPrefix(runID string) string { return joinKey("log", runID) + "/" }

// AppendLog stores chunks and deletes others, never the latest one.
func (s *KVStore) AppendLog(runID string, chunks []LogChunk, drop []int64) (first int64, err error) {
	err = s.storage().Update(func(tx Tx) error {
		if _, err := getRun(tx, runID); err != nil {
			return err
		}
		last, err := tx.Last(logPrefix(runID), prefixEnd(logPrefix(runID)))
		first = int64(parseNumber(last.Key)) + 1
		for i := range chunks {
			saved := savedChunk{chunks[i], []byte(chunks[i].Text)}
			saved.Seq = first + int64(i)
			err = cmp.Or(err, putJSON(tx, numberedKey(logPrefix(runID), int(saved.Seq)), saved))
		}
		for _, seq := range drop {
			err = cmp.Or(err, tx.Delete(numberedKey(logPrefix(runID), int(seq))))
		}
		return err
	})
	return first, err
}

// Log returns the chunks with numbers greater than after.
func (s *KVStore) Log(runID string, after int64, limit int) ([]LogChunk, error) {
	var pairs []Pair
	err := s.storage().View(func(tx Tx) (err error) {
		if _, err = getRun(tx, runID); err == nil {
			pairs, err = collectPairs(tx, logPrefix(runID), numberedKey(logPrefix(runID), int(max(after, 0))), limit)
		}
		return err
	})
	var out []LogChunk
	for _, p := range pairs {
		var saved savedChunk
		if err := decodeJSON(p, &saved); err != nil {
			return nil, err
		}
		saved.LogChunk.Text, saved.Time = string(saved.Text), localTime(saved.Time)
		out = append(out, saved.LogChunk)
	}
	return out, err
}
