// Types and names that clients, workflows and workers share.

// Package engine runs graphs on a Temporal cluster. A workflow drives a run, its history is the
// journal, and activities run handlers.
package engine

import (
	"encoding/json"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// Names on the cluster.
const (
	workflowName = "graphrun"
	taskName     = "graphrun-task"

	updateOffer   = "graphrun-offer"   // an Offer; the reply says why it was refused
	updateRequest = "graphrun-ask"     // a Request
	updateAdopt   = "graphrun-adopt"   // the arguments of the next workflow; the reply says whether it was refused
	updateReserve = "graphrun-reserve" // from a task: tokens of the budget
	updateGraph   = "graphrun-graph"   // from a task: a graph as a tool
	signalNote    = "graphrun-note"    // from a task
	queryJournal  = "graphrun-journal"
	queryState    = "graphrun-snapshot"
	queryLog      = "graphrun-log" // the notes of a task

	// memoStatus is the key of the summary of a run in the memo of its workflow.
	memoStatus = "graphrun"
)

// coreVersion increases when the machine would decide running runs differently. A run stays with
// workers of its version.
const coreVersion = 3

// Start is the input of a workflow.
type Start struct {
	Core int `json:"core"`
	// Record describes the run. Its texts are the version that the run is pinned to.
	Record store.RunRecord `json:"record"`
	// Before is the record with the earlier version of the graph, if that changes.
	Before *store.RunRecord `json:"before,omitempty"`
	// Settings are the options with which the run begins or is resumed.
	Settings runner.Options `json:"settings"`
	// Seed is the journal of a run that continues.
	Seed *Seed `json:"seed,omitempty"`
	// Claim and Turn are the claim of the run to a slot in its group and the latest reply.
	Claim *claim `json:"claim,omitempty"`
	Turn  *turn  `json:"turn,omitempty"`
	// Session is the session of a new run, if it has one.
	Session *keptSession `json:"session,omitempty"`
	// RunDir is the folder of the run on the workers.
	RunDir string `json:"run_dir"`
	// Queue is the task queue of nodes that name none.
	Queue string `json:"queue"`
	// Nonce is drawn for the run; see secretMark.
	Nonce string `json:"nonce"`
	// Tape records or plays models and tools, unless it is nil.
	Tape *tape `json:"tape,omitempty"`
}

// Seed is the journal of a run, up to the start of a workflow.
type Seed struct {
	// Earlier holds the events before Snapshot, Events those after it.
	Earlier []segment `json:"earlier,omitempty"`
	// Summary is the summary of the run until the workflow drives it.
	Summary *store.RunSummary `json:"summary,omitempty"`
	// Snapshot and Events are separate arguments, so that clients need not read them.
	Snapshot []byte            `json:"-"`
	Events   []json.RawMessage `json:"-"`
}

// segment is a part of a journal in the payload store.
type segment struct {
	End    int    `json:"end"` // number of the last event
	Digest string `json:"digest"`
}

// firstSummary returns the summary of the run until the workflow drives it.
func (s *Start) firstSummary() store.RunSummary {
	if s.Seed != nil && s.Seed.Summary != nil {
		return *s.Seed.Summary
	}
	return store.RunSummary{Status: machine.Running, Updated: s.Record.Started}
}

// workflowArguments returns the arguments of the workflow.
func (s *Start) workflowArguments() []any {
	if s.Seed == nil {
		return []any{s, []byte{}, []json.RawMessage{}}
	}
	return []any{s, append([]byte{}, s.Seed.Snapshot...), s.Seed.Events}
}

// Outcome is the result of a workflow.
type Outcome struct {
	Status machine.Status `json:"status"`
	Reason string         `json:"reason,omitempty"`
	Steps  int            `json:"steps"`
	// Unused names the answers given in advance that no question asked for.
	Unused []string `json:"unused,omitempty"`
}

// taskInput is the input of a task without its flow and state.
type taskInput struct {
	Flow  string `json:"flow"` // its digest
	ID    string `json:"id"`   // of the call, in the workflow
	Nonce string `json:"nonce"`

	Task   runner.Task `json:"task"`
	RunDir string      `json:"run_dir,omitempty"`
	// Choice is the decision to make, unless the task is a node.
	Choice *handler.Choice `json:"choice,omitempty"`
	// Graphs means that the file declares graphs as tools.
	Graphs bool `json:"graphs,omitempty"`
	// Budget means that a graph around the task limits the use of models.
	Budget bool `json:"budget,omitempty"`
	// Tape records or plays models and tools, unless it is nil.
	Tape *tape `json:"tape,omitempty"`
}

// taskState is the state that a task sees, a separate argument because elements share it.
type taskState struct {
	State map[string]any `json:"state"`
}

// taskResult is the result of a task.
type taskResult struct {
	handler.Attempt
	// Because is the word of Task.SetReason, Partial the output of a task that failed.
	Because string `json:"because,omitempty"`
	Partial any    `json:"partial,omitempty"`
	// Hide are texts to mask from now on.
	Hide []string `json:"hide,omitempty"`
	// Said holds the messages of the task.
	Said []runner.Said `json:"said,omitempty"`
	// Target and Reasoning are a decision.
	Target    string `json:"target,omitempty"`
	Reasoning string `json:"reasoning,omitempty"`
	// Used are the calls of a recording that the task has played.
	Used []int `json:"used,omitempty"`
}

// note is a note of a running task.
type note struct {
	Task  string         `json:"task"`
	Data  any            `json:"data,omitempty"`
	Usage *handler.Usage `json:"usage,omitempty"`
	// ParallelChange is for Task.AddParallel; the note then has no Data. Attempt is that of the activity.
	ParallelChange int   `json:"beside,omitempty"`
	Attempt        int32 `json:"attempt,omitempty"`
}

// reservation asks for tokens of the budget for a call. The reply has the tokens for the answer.
type reservation struct {
	Task string `json:"task"`
	handler.Reservation
}

// graphCall is a call of a graph as a tool.
type graphCall struct {
	Task string `json:"task"`
	handler.GraphCall
}

// journalQuery asks for events after the first From, of about Size bytes, and for live events
// after the first Live (negative: none).
type journalQuery struct {
	From int `json:"from"`
	Size int `json:"size"`
	Live int `json:"live"`
}

// journalPart is the reply to a journalQuery.
type journalPart struct {
	Events []json.RawMessage `json:"events"`
	// FinalEvents is the number of final events. Later ones become final with the workflow task that
	// began with history event Task; 0 if all are final, -1 if unknown.
	FinalEvents int `json:"sure,omitempty"`
	Task        int `json:"task,omitempty"`
	// Live holds the live events from number LiveFrom on.
	Live     []runner.LiveEvent `json:"live,omitempty"`
	LiveFrom int                `json:"live_from,omitempty"`
}
