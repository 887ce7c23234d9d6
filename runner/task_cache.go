// Cached node results.

package runner

import (
	"context"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// cachingHandler returns a handler that looks in the cache first, and stores its result there.
func (d *driver) cachingHandler(work *machine.Work, hit *bool, handler Handler) Handler {
	if work.CacheKey == "" {
		return handler
	}
	return HandlerFunc(func(ctx context.Context, task *Task) (any, error) {
		now := d.clock.Now()
		value, found := d.cachedResult(work, task, now)
		if *hit = found; found {
			return value, nil
		}
		output, err := handler.Run(ctx, task)
		if err == nil {
			d.cacheResult(work, task, output, now)
		}
		return output, err
	})
}

// cachedResult returns the cached result of a task. If the cache fails, it emits a warning.
func (d *driver) cachedResult(work *machine.Work, task *Task, now time.Time) (value any, found bool) {
	cache := d.flow.runner.cfg.Store
	if cache == nil || work.CacheKey == "" {
		return nil, false
	}
	value, found, err := cache.LoadCached(work.CacheKey, now)
	if err != nil {
		task.Emit(Said{Type: "warning", Message: "cache: " + err.Error()})
	}
	return value, found && err == nil
}

// cacheResult stores the result of a task in the cache, if the node has one.
func (d *driver) cacheResult(work *machine.Work, task *Task, output any, now time.Time) {
	cache := d.flow.runner.cfg.Store
	if cache == nil || work.CacheKey == "" {
		return
	}
	entry := store.CacheEntry{Key: work.CacheKey, Graph: task.Graph.Name.Value, Node: task.Node, Value: d.vault.MaskValue(output)}
	if work.CacheTTL > 0 {
		entry.Expires = now.Add(work.CacheTTL)
	}
	if err := cache.SaveCached(entry); err != nil {
		task.Emit(Said{Type: "warning", Message: "cache: " + err.Error()})
	}
}
