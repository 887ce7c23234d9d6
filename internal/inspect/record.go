// The record of a run in pieces, so that a page can show a long run at once.

package inspect

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/view"
)

// Piece is a part of the record of a run. A page starts with a Run without records and then
// receives the pieces.
type Piece struct {
	Events       []json.RawMessage `json:"events,omitempty"`
	Decisions    []Decision        `json:"decisions,omitempty"`
	Said         []Said            `json:"said,omitempty"`
	Conversation []view.Spoken     `json:"conversation,omitempty"`
	SaidCut      int               `json:"said_cut,omitempty"`
	// Last is the number of the last event. Only the last piece has it.
	Last int64 `json:"last_event,omitempty"`
}

// AppendJSON appends the piece as one JSON object without a line break.
func (p *Piece) AppendJSON(dst []byte) ([]byte, error) {
	dst = append(dst, `{"events":[`...)
	for i, event := range p.Events { // they are JSON already
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

// pieceEvents is the number of events in a piece.
const pieceEvents = 500

// Head returns the present state of a run, without the data that Record sends.
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

// Record sends the record of a run in pieces: the events in order, the rest in the last piece.
// Decisions lack the parts of conditions, which Why returns. It returns errors of tell and of
// the store.
func Record(ctx context.Context, r *runner.Runner, record *store.RunRecord, tell func(*Piece) error) error {
	told := &recordSink{tell: tell, decided: newDecisions(0)}
	told.decided.brief = true
	if _, err := r.Show(record.ID, runner.Options{Sink: told, History: true}); err != nil {
		return err
	}
	said, cut, err := readSaid(ctx, r, record.ID)
	if err != nil {
		return err
	}
	return tell(&Piece{told.events.list, told.decided.list, said, told.spoken.list, cut, told.events.last})
}

// recordSink sends events in pieces.
type recordSink struct {
	tell    func(*Piece) error
	events  pageSink
	spoken  spokenSink
	decided *decisions
}

// Event adds an event and sends a full piece.
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

// Spoken adds messages of the conversation.
func (s *recordSink) Spoken(told *view.Spoken) error { return s.spoken.Spoken(told) }

// Conversation returns the messages that nodes added, in order, including subgraphs. node, a
// path, selects one node unless it is empty.
func Conversation(r *runner.Runner, record *store.RunRecord, node string) ([]view.Spoken, error) {
	sink := &spokenSink{only: node, list: []view.Spoken{}}
	_, err := r.Show(record.ID, runner.Options{Sink: sink, History: true})
	return sink.list, err
}

// spokenSink collects messages.
type spokenSink struct {
	only string
	list []view.Spoken
}

// Event ignores events.
func (s *spokenSink) Event(*runner.Event) error { return nil }

// Spoken keeps what was said.
func (s *spokenSink) Spoken(told *view.Spoken) error {
	if s.only == "" || s.only == told.Node {
		s.list = append(s.list, *told)
	}
	return nil
}
