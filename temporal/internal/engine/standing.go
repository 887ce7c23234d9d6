// How a run stands, as the memo of its workflow says.

package engine

import (
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

// standingNow is how the run stands.
func (j *journal) standingNow(start *Start, driven bool) standing {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := standingOf(&start.Record)
	s.Reason, s.Quality, s.Steps, s.Due, s.Driven = j.standing.Reason, j.standing.Quality, j.standing.Steps, j.standing.Due, driven
	if j.standing.Status != "" {
		s.Status = j.standing.Status
	}
	return s
}

// as is how a run stands that is taken up: as before; nil: it runs.
func (s standing) as(stood *standing) standing {
	if stood != nil {
		s.Status, s.Reason, s.Quality = stood.Status, stood.Reason, stood.Quality
		s.Steps, s.Due, s.Updated = stood.Steps, stood.Due, stood.Updated
	}
	return s
}

// standingOf is how a run stands that begins.
func standingOf(r *store.RunRecord) standing {
	return standing{
		Status: machine.Running, Graph: r.Graph, File: r.File, Labels: r.Labels, Started: r.Started, Updated: r.Started, Driven: true,
		Session: r.Session, Parent: r.Parent, ParentStep: r.ParentStep,
	}
}

// stoodOf is how a run stands that is taken up and may have to wait for a place; nil: it
// goes on at once.
func stoodOf(record *store.RunRecord, one *store.RunSummary) *standing {
	if g, _ := spec.Parse(record.File, record.Source, spec.Options{Load: record.Load}); g.Concurrency == nil {
		return nil
	}
	return &standing{Status: one.Status, Reason: one.Reason, Quality: one.Quality, Steps: one.Steps, Due: one.Due, Updated: one.Updated}
}

// ownerOf is who drives the runs of a task queue.
func ownerOf(queue string) string { return "the cluster (task queue " + queue + ")" }
