// How events are written: as JSON, which is read back as canonical data.

package store

import (
	"fmt"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/runner/machine"
)

// EncodeEvent writes an event as one line of JSON without the newline.
func EncodeEvent(e *machine.Event) ([]byte, error) {
	text, err := encodeJSON(e)
	if err != nil {
		return nil, fmt.Errorf("event %s can't be written: %w", e.Kind, err)
	}
	return text, nil
}

func encodeEvents(events []machine.Event) (texts [][]byte, err error) {
	texts = make([][]byte, len(events))
	for i := range events {
		if texts[i], err = EncodeEvent(&events[i]); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// DecodeEvent reads what EncodeEvent wrote.
func DecodeEvent(text []byte) (machine.Event, error) {
	var e machine.Event
	// Not by way of json.Unmarshal, which would read the text twice.
	if err := e.UnmarshalJSON(text); err != nil {
		return machine.Event{}, fmt.Errorf("event can't be read: %w", err)
	}
	return e, nil
}

func encodeJSON(v any) ([]byte, error) { return eval.AppendJSON(nil, v) }
