// Cached node results.

package runner

import (
	"context"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// cached wraps a handler: a result that is kept is not computed again. A cache
// that fails is only a warning: the node runs.
func (d *driver) cached(work *machine.Work, hit *bool, handler Handler) Handler {
	cache := d.flow.runner.cfg.Store
	if cache == nil || work.CacheKey == "" {
		return handler
	}
	return HandlerFunc(func(ctx context.Context, task *Task) (any, error) {
		now := d.clock.Now()
		value, found, err := cache.Cached(work.CacheKey, now)
		if err == nil && found {
			*hit = true
			return value, nil
		}
		if err != nil {
			task.Emit(Said{Type: "warning", Message: "cache: " + err.Error()})
		}
		output, err := handler.Run(ctx, task)
		if err != nil {
			return nil, err
		}
		entry := store.CacheEntry{Key: work.CacheKey, Graph: task.Graph.Name.Value, Node: task.Node, Value: d.vault.Kept(output)}
		if work.CacheTTL > 0 {
			entry.Expires = now.Add(work.CacheTTL)
		}
		if err := cache.Cache(entry); err != nil {
			task.Emit(Said{Type: "warning", Message: "cache: " + err.Error()})
		}
		return output, nil
	})
}
