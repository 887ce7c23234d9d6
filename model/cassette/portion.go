// Recordings in portions: what is recorded, or played, in several places.

package cassette

import (
	"encoding/json"
	"fmt"
)

// portion is a call on its way to another cassette.
type portion struct {
	What   string          `json:"what"`
	ID     identity        `json:"id"`
	Answer json.RawMessage `json:"answer"`
}

// Take gives what was recorded since the last time, without secrets, for the Add of
// another cassette; nil: nothing was.
func (c *Cassette) Take() ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []portion
	for _, recorded := range c.calls[c.taken:] {
		id, err := scrubbed(recorded.id, c.secrets)
		if err != nil {
			return nil, err
		}
		answer, err := scrubJSON(recorded.answer, c.secrets, false)
		if err != nil {
			return nil, err
		}
		out = append(out, portion{id.What, id, answer})
	}
	c.taken = len(c.calls)
	if out == nil {
		return nil, nil
	}
	return json.Marshal(out)
}

// Add adds what Take gave to a recording.
func (c *Cassette) Add(taken []byte) error {
	var all []portion
	if err := json.Unmarshal(taken, &all); err != nil {
		return fmt.Errorf("a part of the recording can't be read: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range all {
		// As they were written: JSON in JSON is escaped otherwise.
		request, err := canonical(one.ID.Request)
		if err != nil {
			return err
		}
		answer, err := canonical(one.Answer)
		if err != nil {
			return err
		}
		one.ID.What, one.ID.Request = one.What, request
		c.calls = append(c.calls, &call{id: one.ID, answer: answer})
	}
	return nil
}

// Rewound plays the same recording, but for the calls of some numbers, which were played
// elsewhere.
func (c *Cassette) Rewound(played []int) *Cassette {
	out := &Cassette{name: c.name, playing: true}
	for _, recorded := range c.calls {
		out.calls = append(out.calls, &call{id: recorded.id, answer: recorded.answer})
	}
	for _, i := range played {
		if i >= 0 && i < len(out.calls) {
			out.calls[i].used = true
		}
	}
	return out
}

// Played are the numbers of the calls that were played.
func (c *Cassette) Played() (out []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, recorded := range c.calls {
		if recorded.used {
			out = append(out, i)
		}
	}
	return out
}

// Name is that of the file that is played.
func (c *Cassette) Name() string { return c.name }
