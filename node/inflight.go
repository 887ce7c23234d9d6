// The bound of a provider's concurrent calls: max_in_flight.

package node

import (
	"context"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/provider"
	"github.com/graphrun/graphrun/runner"
)

// flightKey is the key of a provider's gate in the scope of a run.
type flightKey struct {
	provider string
	most     int
}

// gated is a client whose calls wait for the gate, which holds a token for each call in flight.
type gated struct {
	model.Client
	gate chan struct{}
}

// Chat waits for the gate and makes the call.
func (c gated) Chat(ctx context.Context, req *model.Request, onText func(string)) (*model.Response, error) {
	select {
	case c.gate <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-c.gate }()
	return c.Client.Chat(ctx, req, onText)
}

// limitInFlight bounds the calls in flight by the provider's max_in_flight.
func limitInFlight(task *runner.Task, ref modelRef, client model.Client) model.Client {
	name, _, _ := provider.Split(ref.name)
	declared, _ := ref.providers[name].(map[string]any)
	most, ok := declared["max_in_flight"].(int)
	if !ok || client == nil {
		return client
	}
	return gated{client, task.Scope.Keep(flightKey{name, most}, func() any { return make(chan struct{}, most) }).(chan struct{})}
}
