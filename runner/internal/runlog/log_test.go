package runlog

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graphrun/graphrun/runner/internal/mask"
	"github.com/graphrun/graphrun/runner/store"
)

// logOf keeps chunks as a store does.
type logOf struct {
	mu     sync.Mutex
	chunks []store.LogChunk
	last   int64
	wait   chan struct{} // closed: nothing waits
}

func (l *logOf) AppendLog(_ string, chunks []store.LogChunk, drop []int64) (int64, error) {
	<-l.wait
	l.mu.Lock()
	defer l.mu.Unlock()
	l.chunks = slices.DeleteFunc(l.chunks, func(c store.LogChunk) bool { return slices.Contains(drop, c.Seq) })
	first := l.last + 1
	for _, c := range chunks {
		l.last++
		c.Seq = l.last
		l.chunks = append(l.chunks, c)
	}
	return first, nil
}

func (l *logOf) Log(string, int64, int) ([]store.LogChunk, error) { return l.chunks, nil }

func openedLog(store *logOf) *Log {
	return New(Config{Store: store, RunID: "r", Now: time.Now, Mask: &mask.Masker{}})
}

func free() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// However a stream is split into writes and batches, its beginning and its end are stored, at
// most the promised size, each at its offset.
func TestLogKeepsBothEnds(t *testing.T) {
	for seed := range uint64(16) {
		random := rand.New(rand.NewPCG(seed, 1))
		kept := &logOf{wait: free()}
		log := openedLog(kept)
		streams := []*stream{
			log.OpenStream(store.LogChunk{Stream: "stdout"}, false).(*stream), log.OpenStream(store.LogChunk{Stream: "stderr"}, false).(*stream),
		}
		var said [2]strings.Builder
		most := []int{20, 3000, 50_000, 400_000}[seed%4]
		for i := range 200 {
			which := random.IntN(2)
			text := fmt.Sprintf("<%d>", i) + strings.Repeat("x", random.IntN(most))
			said[which].WriteString(text)
			_, _ = streams[which].Write([]byte(text))
			if random.IntN(5) == 0 {
				log.flush()
			}
		}
		for _, s := range streams {
			_ = s.Close()
		}
		log.Close()
		for i, s := range streams {
			checkStream(t, seed, kept.chunks, s.about.Call, said[i].String())
		}
		if len(log.queue) > 0 || len(log.drop) > 0 {
			t.Errorf("seed %d: %d chunks are not kept, %d not forgotten", seed, len(log.queue), len(log.drop))
		}
		if t.Failed() {
			return
		}
	}
}

func checkStream(t *testing.T, seed uint64, chunks []store.LogChunk, call int64, said string) {
	t.Helper()
	size, next, gaps, ended := 0, int64(0), 0, false
	for _, c := range chunks {
		if c.Call != call {
			continue
		}
		if c.Offset < next || ended {
			t.Errorf("seed %d: a chunk at %d after %d, ended %t", seed, c.Offset, next, ended)
		}
		if c.Offset > next {
			gaps++
		}
		if said[c.Offset:int(c.Offset)+len(c.Text)] != c.Text {
			t.Errorf("seed %d: at %d is another text", seed, c.Offset)
		}
		size, next, ended = size+len(c.Text), c.Offset+int64(len(c.Text)), c.End
	}
	whole := len(said) <= logHead/4
	switch {
	case next != int64(len(said)) || !ended:
		t.Errorf("seed %d: it goes to %d of %d, ended %t", seed, next, len(said), ended)
	case size > logHead+logTail+2*largestChunk:
		t.Errorf("seed %d: %d bytes are kept", seed, size)
	case gaps > 1:
		t.Errorf("seed %d: %d gaps", seed, gaps)
	case whole && gaps > 0:
		t.Errorf("seed %d: %d bytes were cut", seed, len(said))
	}
}

// Writers do not wait for the store, and the queue is bounded.
func TestLogDoesNotWait(t *testing.T) {
	kept := &logOf{wait: make(chan struct{})}
	log := openedLog(kept)
	s := log.OpenStream(store.LogChunk{Stream: "stdout"}, false)
	text := []byte(strings.Repeat("y", 32<<10))
	_, _ = s.Write(text)
	go log.flush() // hangs in the store
	for range 2000 {
		_, _ = s.Write(text)
		_, _ = s.Write([]byte("z"))
	}
	log.mu.Lock()
	held := 0
	for _, c := range log.queue {
		held += cap(c.text)
	}
	chunks := len(log.queue)
	log.mu.Unlock()
	if held > 1<<20 || chunks > 2000 {
		t.Errorf("%d bytes in %d chunks wait", held, chunks)
	}
	close(kept.wait)
	_ = s.Close()
	log.Close()
}

// A secret is masked wherever a write cuts it.
func TestLogMasksPieces(t *testing.T) {
	const secret = "canary-4711"
	for cut := range len(secret) + 1 {
		kept := &logOf{wait: free()}
		log := openedLog(kept)
		log.Mask.Hide(secret)
		s := log.OpenStream(store.LogChunk{Stream: "stdout"}, false)
		_, _ = s.Write([]byte("it is " + secret[:cut]))
		log.flush()
		_, _ = s.Write([]byte(secret[cut:] + "\n"))
		_ = s.Close()
		log.Close()
		var all strings.Builder
		for _, c := range kept.chunks {
			all.WriteString(c.Text)
		}
		if all.String() != "it is ***\n" {
			t.Errorf("cut at %d: %q", cut, all.String())
		}
	}
}

// Listeners get the latest line of a stream, and nothing from a quiet one.
func TestHeard(t *testing.T) {
	lines := make(chan store.LogChunk, 10)
	log := New(Config{OnLine: func(c store.LogChunk) { lines <- c }, Now: time.Now, Mask: &mask.Masker{}})
	quiet := log.OpenStream(store.LogChunk{Node: "b"}, true)
	_, _ = quiet.Write([]byte("nothing\n"))
	s := log.OpenStream(store.LogChunk{Node: "a"}, false)
	_, _ = s.Write([]byte("one\ntwo\n  thr"))
	_, _ = s.Write([]byte("ee  \n\n"))
	if got := <-lines; got.Node != "a" || got.Text != "three" {
		t.Errorf("%+v", got)
	}
	if len(lines) > 0 {
		t.Errorf("%+v", <-lines)
	}
}
