// Summaries of runs in the memos of their workflows.

package engine

import (
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

// standingOf returns the summary of a run; at is nil if it begins.
func standingOf(r *store.RunRecord, at *store.RunSummary) standing {
	if at == nil {
		at = &store.RunSummary{Status: machine.Running, Updated: r.Started}
	}
	out := standing{RunSummary: *at, Driven: true}
	out.RunRecord = *r
	out.Source, out.Files = nil, nil
	return out
}

// standingBefore returns the summary of a run that is resumed and may have to wait for its
// group; nil if it goes on at once.
func standingBefore(record *store.RunRecord, one *store.RunSummary) *store.RunSummary {
	if g, _ := spec.Parse(record.File, record.Source, spec.Options{Load: record.Load}); g.Concurrency == nil {
		return nil
	}
	stood := *one
	stood.RunRecord = store.RunRecord{}
	return &stood
}

// ownerOf returns the owner of the runs of a task queue.
func ownerOf(queue string) string { return "the cluster (task queue " + queue + ")" }
