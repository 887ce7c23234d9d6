// What is recorded of a run, in pieces, and its conversation: a long one is shown before all
// of it has come.

package inspect

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/view"
)

// Piece is some of what is recorded of a run: a page begins with a Run that has none of
// it, and is told the rest by and by.
type Piece struct {
	Events       []json.RawMessage `json:"events,omitempty"`
	Decisions    []Decision        `json:"decisions,omitempty"`
	Said         []Said            `json:"said,omitempty"`
	Conversation []view.Spoken     `json:"conversation,omitempty"`
	SaidCut      int               `json:"said_cut,omitempty"`
	// Last is the number of the last event, in the last piece.
	Last int64 `json:"last_event,omitempty"`
}

// AppendJSON appends the piece as one JSON object without a line break.
func (p *Piece) AppendJSON(dst []byte) ([]byte, error) {
	dst = append(dst, `{"events":[`...)
	for i, event := range p.Events { // they are JSON, which encoding them would look at again
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, event...)
	}
	rest := *p
	rest.Events = nil
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(&rest); err != nil {
		return nil, err
	}
	more := bytes.TrimSpace(text.Bytes())[1:]
	if dst = append(dst, ']'); len(more) > 1 {
		dst = append(dst, ',')
	}
	return append(dst, more...), nil
}

// pieceEvents is how many events a piece has.
const pieceEvents = 500

// Head is a run as it stands, without what Record tells.
func Head(r *runner.Runner, id string) (*Run, error) {
	result, err := r.Show(id, runner.Options{})
	if err != nil {
		return nil, err
	}
	first, err := r.ShowAt(id, 0, runner.Options{})
	if err != nil {
		return nil, err
	}
	result.History = nil
	return &Run{
		Result: result, State: first.State, Events: []json.RawMessage{}, Decisions: []Decision{}, Said: []Said{}, Conversation: []view.Spoken{},
	}, nil
}

// Record tells in pieces what is recorded of a run: the events in order, the rest in the
// last piece.
// Conditions of decisions are not told part by part: Why does that for a step. The
// error is that of tell, or of the store.
func Record(ctx context.Context, r *runner.Runner, record *store.RunRecord, tell func(*Piece) error) error {
	told := &recordSink{tell: tell, decided: newDecisions(0)}
	told.decided.brief = true
	if _, err := r.Show(record.ID, runner.Options{Sink: told, History: true}); err != nil {
		return err
	}
	said, cut, err := saidIn(ctx, r, record.ID)
	if err != nil {
		return err
	}
	return tell(&Piece{told.events.list, told.decided.list, said, told.spoken.list, cut, told.events.last})
}

// recordSink tells of events in pieces.
type recordSink struct {
	tell    func(*Piece) error
	events  pageSink
	spoken  spokenSink
	decided *decisions
}

// Event keeps an event, and tells of those before.
func (s *recordSink) Event(e *runner.Event) error {
	if len(s.events.list) == pieceEvents {
		if err := s.tell(&Piece{Events: s.events.list}); err != nil {
			return err
		}
		s.events.list = s.events.list[:0]
	}
	if err := s.events.Event(e); err != nil {
		return err
	}
	return s.decided.Event(e)
}

// Spoken keeps what was said in the conversation.
func (s *recordSink) Spoken(told *view.Spoken) error { return s.spoken.Spoken(told) }

// Conversation is what the nodes of a run added to it, in order, those of subgraphs
// too; node, a path, is the only one wanted unless it is empty.
func Conversation(r *runner.Runner, record *store.RunRecord, node string) ([]view.Spoken, error) {
	sink := &spokenSink{only: node, list: []view.Spoken{}}
	_, err := r.Show(record.ID, runner.Options{Sink: sink, History: true})
	return sink.list, err
}

// spokenSink keeps what was said.
type spokenSink struct {
	only string
	list []view.Spoken
}

// Event leaves an event to others.
func (s *spokenSink) Event(*runner.Event) error { return nil }

// Spoken keeps what was said.
func (s *spokenSink) Spoken(told *view.Spoken) error {
	if s.only == "" || s.only == told.Node {
		s.list = append(s.list, *told)
	}
	return nil
}
