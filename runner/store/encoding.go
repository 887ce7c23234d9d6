// How events and values are written: JSON, read back canonical.

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

// EncodeValue writes plain data as JSON.
func EncodeValue(v any) ([]byte, error) {
	text, err := encodeJSON(v)
	if err != nil {
		return nil, fmt.Errorf("value can't be written: %w", err)
	}
	return text, nil
}

// DecodeValue reads what EncodeValue wrote, as canonical data.
func DecodeValue(text []byte) (any, error) {
	v, err := eval.ParseJSON(text)
	if err != nil {
		return nil, fmt.Errorf("value can't be read: %w", err)
	}
	return v, nil
}

func encodeJSON(v any) ([]byte, error) { return eval.AppendJSON(nil, v) }
