// What comes over the wire, as plain data again.

package engine

import (
	"bytes"
	"encoding/json"

	"github.com/graphrun/graphrun/eval"
)

// canonical makes what was decoded plain data again: numbers are read by their digits.
func canonical(values ...*any) error {
	for _, v := range values {
		plain, err := eval.Canonical(*v)
		if err != nil {
			return err
		}
		*v = plain
	}
	return nil
}

func canonicalMaps(maps ...*map[string]any) error {
	for _, m := range maps {
		if *m == nil {
			continue
		}
		plain, err := eval.Canonical(*m)
		if err != nil {
			return err
		}
		*m, _ = plain.(map[string]any)
	}
	return nil
}

func canonicalList(list *[]any) error {
	if *list == nil {
		return nil
	}
	plain, err := eval.Canonical(*list)
	if err != nil {
		return err
	}
	*list, _ = plain.([]any)
	return nil
}

// decode reads JSON with numbers by their digits.
func decode(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(into)
}

// UnmarshalJSON reads a start with plain data in it.
func (s *Start) UnmarshalJSON(text []byte) error {
	type plain Start
	if err := decode(text, (*plain)(s)); err != nil {
		return err
	}
	for i := range s.Settings.ModelParams {
		if err := canonical(&s.Settings.ModelParams[i].Value); err != nil {
			return err
		}
	}
	return canonicalMaps(&s.Input)
}

// UnmarshalJSON reads settings with plain data in them.
func (s *Settings) UnmarshalJSON(text []byte) error {
	type plain Settings
	if err := decode(text, (*plain)(s)); err != nil {
		return err
	}
	for i := range s.ModelParams {
		if err := canonical(&s.ModelParams[i].Value); err != nil {
			return err
		}
	}
	return nil
}

// UnmarshalJSON reads a task with plain data in it.
func (t *taskInput) UnmarshalJSON(text []byte) error {
	type plain taskInput
	if err := decode(text, (*plain)(t)); err != nil {
		return err
	}
	if err := canonical(&t.Item, &t.Input); err != nil {
		return err
	}
	if t.Models != nil {
		if err := canonicalMaps(&t.Models.Params); err != nil {
			return err
		}
		for i := range t.Models.Around {
			if err := canonicalMaps(&t.Models.Around[i].Providers); err != nil {
				return err
			}
		}
	}
	if t.Choice != nil {
		if err := canonical(&t.Choice.Output); err != nil {
			return err
		}
		for i := range t.Choice.See {
			if err := canonical(&t.Choice.See[i].Value); err != nil {
				return err
			}
		}
		if err := canonicalList(&t.Choice.Log); err != nil {
			return err
		}
	}
	if err := canonicalList(&t.Log); err != nil {
		return err
	}
	return canonicalMaps(&t.Config, &t.Tools, &t.Providers, &t.Answers)
}

// UnmarshalJSON reads a state with plain data in it.
func (s *taskState) UnmarshalJSON(text []byte) error {
	type plain taskState
	s.State = nil // what is there may be shared
	if err := decode(text, (*plain)(s)); err != nil {
		return err
	}
	return canonicalMaps(&s.State)
}

// UnmarshalJSON reads a result with plain data in it.
func (r *taskResult) UnmarshalJSON(text []byte) error {
	type plain taskResult
	if err := decode(text, (*plain)(r)); err != nil {
		return err
	}
	if r.Failure != nil {
		if err := canonicalMaps(&r.Failure.Details); err != nil {
			return err
		}
	}
	for i := range r.Asks {
		ask := &r.Asks[i]
		if err := canonicalMaps(&ask.Schema); err != nil {
			return err
		}
		if ask.Tool != nil {
			if err := canonicalMaps(&ask.Tool.Args); err != nil {
				return err
			}
		}
	}
	for i := range r.Said {
		if err := canonical(&r.Said[i].Data); err != nil {
			return err
		}
	}
	return canonical(&r.Output, &r.Partial)
}

// UnmarshalJSON reads an event with plain data in it.
func (e *liveEvent) UnmarshalJSON(text []byte) error {
	type plain liveEvent
	if err := decode(text, (*plain)(e)); err != nil || e.Said == nil {
		return err
	}
	return canonical(&e.Said.Data)
}

// UnmarshalJSON reads a note with plain data in it.
func (n *note) UnmarshalJSON(text []byte) error {
	type plain note
	if err := decode(text, (*plain)(n)); err != nil {
		return err
	}
	return canonical(&n.Data)
}

// UnmarshalJSON reads a call with plain data in it.
func (c *graphCall) UnmarshalJSON(text []byte) error {
	type plain graphCall
	if err := decode(text, (*plain)(c)); err != nil {
		return err
	}
	return canonicalMaps(&c.With)
}
