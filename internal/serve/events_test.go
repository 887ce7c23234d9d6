package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/graphrun/graphrun/runner"
)

// reader reads the events of a run.
type reader struct {
	answer *http.Response
	lines  *bufio.Scanner
	stop   context.CancelFunc
}

// listen starts to read the events of a run after an event number.
func (s *tested) listen(run string, after int64) *reader {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := s.request("GET", prefix+"/runs/"+run+"/events", "").WithContext(ctx)
	if after > 0 {
		r.Header.Set("Last-Event-ID", strconv.FormatInt(after, 10))
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { cancel(); _ = answer.Body.Close() })
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 16<<20)
	return &reader{answer, lines, cancel}
}

// receivedEvent is an event that a reader received.
type receivedEvent struct {
	Seq    int64  `json:"seq"`
	Event  string `json:"event"`
	Status string `json:"status"`
	text   string
}

// next returns the next event, or false at the end.
func (r *reader) next(t *testing.T) (e receivedEvent, ok bool) {
	t.Helper()
	id := ""
	for r.lines.Scan() {
		line := r.lines.Text()
		if text, found := strings.CutPrefix(line, "id: "); found {
			id = text
		}
		data, found := strings.CutPrefix(line, "data: ")
		if !found {
			continue
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatalf("%v: %s", err, data)
		}
		e.text = data
		if id != strconv.FormatInt(e.Seq, 10) {
			t.Fatalf("the id is %q: %s", id, data)
		}
		return e, true
	}
	return e, false
}

// journal returns the events in the journal of a run.
func (s *tested) journal(run string) []string {
	s.t.Helper()
	var out []string
	_, err := s.server.cfg.Runner.Replay(run, 0, -1, runner.Options{Sink: runner.SinkFunc(func(e *runner.Event) error {
		out = append(out, string(e.AppendJSON(nil)))
		return nil
	})})
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// TestReconnect checks that a reader which reconnects often gets every event once and in order,
// from the running drive and from the journal.
func TestReconnect(t *testing.T) {
	s := newTested(t, nil)
	s.call(201, "POST", "/runs", `{"flow":"counting.yaml","run_id":"r","input":{"most":400}}`)
	var got []receivedEvent
	last := int64(0)
	for tries := 1; ; tries++ {
		if tries > 1000 {
			t.Fatal("the run does not end")
		}
		r := s.listen("r", last)
		over := false
		for range 7 * tries {
			e, ok := r.next(t)
			if !ok {
				over = true
				break
			}
			got, last = append(got, e), e.Seq
		}
		r.stop()
		if over {
			break
		}
	}
	want := s.journal("r")
	if len(got) != len(want) {
		t.Errorf("%d events were told, the journal has %d", len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if !sameEvent(t, got[i].text, want[i]) {
			t.Fatalf("event %d is %s, want %s", i, got[i].text, want[i])
		}
	}
	answer, _ := s.do(func() *http.Request {
		r := s.request("GET", prefix+"/runs/r/events", "")
		r.Header.Set("Last-Event-ID", fmt.Sprint(last))
		return r
	}())
	if answer.StatusCode != http.StatusNoContent {
		t.Errorf("a reader that has all is answered %s", answer.Status)
	}
}

// sameEvent compares events without durations, which are measured live and again from the
// journal.
func sameEvent(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y map[string]any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	return x["seq"] == y["seq"] && x["event"] == y["event"] && x["node"] == y["node"] && x["step"] == y["step"] && x["visit"] == y["visit"]
}

// TestWatchOverPause checks that one stream follows a run across pauses to its end.
func TestWatchOverPause(t *testing.T) {
	s := newTested(t, nil)
	s.call(201, "POST", "/runs", `{"flow":"asking.yaml","run_id":"r"}`)
	s.until("r", "paused")
	r := s.listen("r", 0)
	var seen []string
	last := int64(0)
	for {
		e, ok := r.next(t)
		if !ok {
			break
		}
		if e.Seq <= last {
			t.Errorf("event %d comes after %d", e.Seq, last)
		}
		last = e.Seq
		seen = append(seen, e.Event)
		if e.Event == "run_paused" {
			s.call(200, "POST", "/runs/r/answers", `{"answers":[{"target":"ok","value":"no"}]}`)
		}
	}
	text := strings.Join(seen, " ")
	if !strings.HasPrefix(text, "run_started ") || !strings.Contains(text, "run_paused ") || !strings.Contains(text, " run_resumed ") || !strings.HasSuffix(text, " run_finished") {
		t.Errorf("told: %s", text)
	}
}

// TestFollowOthers checks that the server streams runs that another process drives.
func TestFollowOthers(t *testing.T) {
	s := newTested(t, nil)
	s.call(201, "POST", "/runs", `{"flow":"asking.yaml","run_id":"r"}`)
	s.until("r", "paused")
	r := s.listen("r", 0)
	for e, ok := r.next(t); e.Event != "run_paused"; e, ok = r.next(t) {
		if !ok {
			t.Fatal("the stream ends")
		}
	}
	go func() { // outside the server
		_, err := s.server.cfg.Runner.Resume(context.Background(), "r", runner.Options{Answers: map[string][]string{"ok": {"yes"}}})
		if err != nil {
			t.Error(err)
		}
	}()
	last := receivedEvent{}
	for e, ok := r.next(t); ok; e, ok = r.next(t) {
		last = e
	}
	if last.Event != "run_finished" || last.Status != "completed" {
		t.Errorf("the last event is %s", last.text)
	}
}

// TestSlowReader checks that a stalled reader does not slow the run, and gets all events later.
func TestSlowReader(t *testing.T) {
	s := newTested(t, nil)
	s.call(201, "POST", "/runs", `{"flow":"asking.yaml","run_id":"r"}`)
	s.until("r", "paused")
	for range 20 {
		s.listen("r", 0) // reads nothing
	}
	s.call(201, "POST", "/runs", `{"flow":"counting.yaml","run_id":"long","input":{"most":3000}}`)
	readers := []*reader{s.listen("long", 0), s.listen("long", 0)}
	s.until("long", "completed") // while nobody reads
	for _, r := range readers {
		last, n := int64(0), 0
		for e, ok := r.next(t); ok; e, ok = r.next(t) {
			if e.Seq <= last {
				t.Fatalf("event %d comes after %d", e.Seq, last)
			}
			last = e.Seq
			n++
		}
		if want := len(s.journal("long")); n != want {
			t.Errorf("a slow reader has %d events of %d", n, want)
		}
	}
}

// TestStreamsEnd checks that streams end when the server stops, and that the server forgets runs
// without readers.
func TestStreamsEnd(t *testing.T) {
	s := newTested(t, nil)
	s.call(201, "POST", "/runs", `{"flow":"asking.yaml","run_id":"r"}`)
	s.until("r", "paused")
	r := s.listen("r", 0)
	if _, ok := r.next(t); !ok {
		t.Fatal("nothing is told")
	}
	if _, _, _, watched := s.fleet.Counts(); watched != 1 {
		t.Errorf("%d readers", watched)
	}
	s.server.Close()
	for _, ok := r.next(t); ok; _, ok = r.next(t) {
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if _, _, _, watched := s.fleet.Counts(); watched == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the reader is not forgotten")
		}
	}
}
