// What goes over the wire: how a run begins, what a task gets and what it gives.

// Package engine runs graphs on a Temporal cluster: a workflow is the loop around the
// machine, its history the journal, activities run node handlers.
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
	updateAsk     = "graphrun-ask"     // a Request
	updateResume  = "graphrun-resume"  // a runner.Options
	updateAdopt   = "graphrun-adopt"   // an adoption and its journal; the reply says why it was refused
	updateReserve = "graphrun-reserve" // of a task, room in the budget
	updateGraph   = "graphrun-graph"   // of a task, a graph as a tool
	signalNote    = "graphrun-note"    // of a task
	queryJournal  = "graphrun-journal"
	queryState    = "graphrun-snapshot"
	queryLog      = "graphrun-log"  // what a task has noted
	queryTape     = "graphrun-tape" // what was recorded

	// memoStatus is where a run says how it stands.
	memoStatus = "graphrun"
)

// coreVersion is raised when the machine's decisions change for runs that are under
// way: a worker leaves runs of another version to others.
const coreVersion = 3

// Start is the input of a workflow.
type Start struct {
	Core int `json:"core"`
	// Record is what the run is; its texts are the version that it is pinned to.
	Record store.RunRecord `json:"record"`
	// Before is what the run was, when it goes on with another version of its graph;
	// nil: it goes on with the same.
	Before *store.RunRecord `json:"before,omitempty"`
	// Settings are those that the run begins or is resumed with.
	Settings runner.Options `json:"settings"`
	// Seed is what the run goes on from; nil: it is new.
	Seed *Seed `json:"seed,omitempty"`
	// Session is what a new run takes over; nil: nothing.
	Session *keptSession `json:"session,omitempty"`
	// RunDir is the folder of the run on the workers.
	RunDir string `json:"run_dir"`
	// Queue is the task queue of nodes that name none.
	Queue string `json:"queue"`
	// Nonce is drawn for the run; see secretMark.
	Nonce string `json:"nonce"`
	// Tape is what models and tools are recorded on, or played from; nil: neither.
	Tape *tape `json:"tape,omitempty"`
}

// Seed is the journal of a run up to where a workflow takes it over.
type Seed struct {
	// Base is how many events come before Events, which are those since Snapshot;
	// 0: there is no snapshot.
	Base int `json:"base"`
	// Previous is the workflow run that has the events before; empty: there are none.
	Previous string `json:"previous,omitempty"`
	// Claim and Turn are the run's claim to a slot in its group, which it keeps.
	Claim *claim `json:"claim,omitempty"`
	Turn  *turn  `json:"turn,omitempty"`
	// Stood is how the run stands until it is inside; nil: it runs.
	Stood *store.RunSummary `json:"stood,omitempty"`
	// Fork says that nothing is kept of the run if it does not get inside.
	Fork bool `json:"fork,omitempty"`
	// What follows is no part of the start: the workflow gets it beside that, as it is, and
	// who only looks at a start does not.
	Snapshot []byte            `json:"-"`
	Events   []json.RawMessage `json:"-"`
}

// adoption has a run that pauses go on in a new workflow, with another version of its
// graph.
type adoption struct {
	// Start is the input of that workflow. What its seed has not is sent beside.
	Start Start `json:"start"`
	// Events is how many the run had when the version was compared with them.
	Events int `json:"events"`
}

// Outcome is the result of a workflow.
type Outcome struct {
	Status machine.Status `json:"status"`
	Reason string         `json:"reason,omitempty"`
	Steps  int            `json:"steps"`
	// Unused names the answers given in advance that nothing has asked for.
	Unused []string `json:"unused,omitempty"`
}

// standing is how a run stands, in the memo of its workflow.
type standing struct {
	store.RunSummary
	// Driven says that the workflow drives the run; else it waits to be told.
	Driven bool `json:"driven"`
	// Void says that nothing is kept of the run: it got no slot in its group.
	Void bool `json:"void,omitempty"`
	// Busy is why the run did not go on when it was to; nil: it did, or somebody stopped it.
	Busy *store.Waiting `json:"busy,omitempty"`
}

// taskInput is what a task needs, besides the flow.
type taskInput struct {
	Flow  string `json:"flow"` // its digest
	ID    string `json:"id"`   // of the call, in the workflow
	Nonce string `json:"nonce"`

	Task   runner.Task `json:"task"`
	RunDir string      `json:"run_dir,omitempty"`
	// Choice is what is to be decided; nil: the task is a node.
	Choice *handler.Choice `json:"choice,omitempty"`
	// Graphs says that the file declares graphs as tools.
	Graphs bool `json:"graphs,omitempty"`
	// Budget says that a graph around the task bounds what models may cost.
	Budget bool `json:"budget,omitempty"`
	// Tape is what models and tools are recorded on, or played from; nil: neither.
	Tape *taskTape `json:"tape,omitempty"`
}

// taskState is what a task sees of the state. It is sent by itself, because elements of a
// list see the same.
type taskState struct {
	State map[string]any `json:"state"`
}

// taskResult is the result of a task.
type taskResult struct {
	handler.Attempt
	// Because is Task.Because, Partial what a task that did not succeed had produced.
	Because string `json:"because,omitempty"`
	Partial any    `json:"partial,omitempty"`
	// Hide are texts to mask from now on.
	Hide []string `json:"hide,omitempty"`
	// Said is what the task said for those who look at the run.
	Said []runner.Said `json:"said,omitempty"`
	// Target and Reasoning are a decision.
	Target    string `json:"target,omitempty"`
	Reasoning string `json:"reasoning,omitempty"`
	// Recorded and Used are for the tape of the run.
	Recorded string `json:"recorded,omitempty"`
	Used     []int  `json:"used,omitempty"`
}

// note is what a running task notes.
type note struct {
	Task  string         `json:"task"`
	Data  any            `json:"data,omitempty"`
	Usage *handler.Usage `json:"usage,omitempty"`
	// Settles names the reservation that the call was made with.
	Settles string `json:"settles,omitempty"`
	// Recorded is what was recorded before, for the tape of the run.
	Recorded string `json:"recorded,omitempty"`
	// Beside is runner.Task.Beside; the note has nothing else then. Attempt is that of
	// the activity.
	Beside  int   `json:"beside,omitempty"`
	Attempt int32 `json:"attempt,omitempty"`
}

// reservation is a handler.Reservation; its prices are linear in the tokens.
type reservation struct {
	Task   string  `json:"task"`
	ID     string  `json:"id"`
	Input  int     `json:"input"`
	Output int     `json:"output"`
	Known  bool    `json:"known"`
	Base   float64 `json:"base"`
	Each   float64 `json:"each"`
}

// reserved is the reply to a reservation.
type reserved struct {
	Output  int             `json:"output"`
	Failure *runner.Failure `json:"failure,omitempty"`
}

// graphCall is a call of a graph as a tool.
type graphCall struct {
	Task string `json:"task"`
	handler.GraphCall
}

// journalQuery asks for events after the first From, of about Size bytes, and, unless
// Live is negative, for what was told live after the first Live.
type journalQuery struct {
	From int `json:"from"`
	Size int `json:"size"`
	Live int `json:"live"`
}

// journalPart is the reply.
type journalPart struct {
	// Base is how many events are with workflow runs before, Previous the last of
	// those.
	Base     int               `json:"base"`
	Previous string            `json:"previous,omitempty"`
	Events   []json.RawMessage `json:"events"`
	// Sure is how many events there are for good. Those after them stay if the workflow
	// task is completed that began with event Task of the history. 0: they stay; -1: it
	// is not to be known.
	Sure int `json:"sure,omitempty"`
	Task int `json:"task,omitempty"`
	// Live is what was told live, from number LiveFrom on.
	Live     []runner.LiveEvent `json:"live,omitempty"`
	LiveFrom int                `json:"live_from,omitempty"`
}
