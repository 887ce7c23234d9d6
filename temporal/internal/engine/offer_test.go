package engine_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/temporal/internal/engine"
)

// TestOfferTooLate: answers that arrive after the end of a run stay open, so that their sender
// reads the status of the run. Answers for an unknown run are refused.
func TestOfferTooLate(t *testing.T) {
	o := engine.Options{Address: serverOf(t), Payloads: t.TempDir()}
	startWorker(t, o, engine.WorkerOptions{})
	file := filepath.Join(t.TempDir(), "flow.yaml")
	text := "graphrun: v1\nname: short\nstart: a\nnodes: {a: {kind: pass}}\nedges: [{from: a, to: END}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := command(&o, "run", file, "--run-id", "short"); code != 0 {
		t.Fatal(stderr)
	}
	c, err := o.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	kept := c.Store(t.Context())
	offer := store.Offer{ID: "1", Answers: []store.GivenAnswer{{Target: "a", Text: "yes"}}}
	if err := kept.SendOffer("short", offer); err != nil {
		t.Fatal(err)
	}
	if open, refused, err := kept.WithdrawOffer("1"); !open || refused != "" || err != nil {
		t.Errorf("the offer is open: %v, refused: %q, %v", open, refused, err)
	}
	if err := kept.SendRequest("short", store.RequestCancel); err != nil { // the same holds for a request
		t.Error(err)
	}
	if err := kept.SendRequest("none", store.RequestCancel); !errors.Is(err, store.ErrNoRun) {
		t.Errorf("a request to a run that there is not: %v", err)
	}
	if err := kept.SendOffer("none", offer); !errors.Is(err, store.ErrNoRun) {
		t.Errorf("for a run that there is not: %v", err)
	}
}
