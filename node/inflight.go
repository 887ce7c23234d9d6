// How many calls of a provider go on at once: its max_in_flight.

package node

import (
	"context"
	"io"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/provider"
	"github.com/graphrun/graphrun/runner"
)

// flightKey is the key of a provider's gate in the scope of a run.
type flightKey struct {
	provider string
	most     int
}

// gate holds a token for each call that is under way.
type gate chan struct{}

// Close has nothing to do.
func (gate) Close() error { return nil }

// gated is a client whose calls wait for their turn.
type gated struct {
	model.Client
	gate gate
}

// Chat waits until there is room, and makes the call.
func (c gated) Chat(ctx context.Context, req *model.Request, onText func(string)) (*model.Response, error) {
	select {
	case c.gate <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-c.gate }()
	return c.Client.Chat(ctx, req, onText)
}

// inTurn is a client that makes no more calls at once than its provider takes.
func inTurn(task *runner.Task, ref modelRef, client model.Client) model.Client {
	name, _, _ := provider.Split(ref.name)
	declared, _ := ref.providers[name].(map[string]any)
	most, ok := declared["max_in_flight"].(int)
	if !ok || client == nil {
		return client
	}
	return gated{client, task.Scope.Keep(flightKey{name, most}, func() io.Closer { return make(gate, most) }).(gate)}
}
