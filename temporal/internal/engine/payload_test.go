package engine

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// unreached is a store that is always out of reach.
type unreached struct{}

func (unreached) put(string, []byte) error           { return errors.New("away") }
func (unreached) get(string) ([]byte, error)         { return nil, errors.New("away") }
func (unreached) storedAt(string) (time.Time, error) { return time.Time{}, errors.New("away") }
func (unreached) list(string) ([]string, error)      { return nil, errors.New("away") }

// TestInsistent: within a workflow an unavailable store is not an error, but a reason to decide
// again later. An invalid value is an error.
func TestInsistent(t *testing.T) {
	large := strings.Repeat("x", largestPayload)
	conv := newConverter(unreached{})
	if _, err := conv.ToPayload(large); err == nil || err.Error() != "payload store: away" {
		t.Errorf("outside a workflow: %v", err)
	}
	within := storedConverter{conv, unreached{}}.WithWorkflowContext(nil)
	if _, err := within.ToPayload(func() {}); err == nil {
		t.Error("a function was converted")
	}
	if _, err := within.ToPayload("small"); err != nil {
		t.Errorf("a small value: %v", err)
	}
	defer func() {
		if err, _ := recover().(error); !errors.Is(err, errPayloadStore) {
			t.Errorf("within a workflow: %v, want a panic with what the store said", err)
		}
	}()
	_, _ = within.ToPayloads(1, large)
}
