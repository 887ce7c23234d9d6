// Snapshots: the state as JSON, so that nobody has to apply the events before it.

package machine

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/graphrun/graphrun/spec"
)

// snapshotVersion is that of the form; one of another version can't be restored.
const snapshotVersion = 2

// savedState is State in a snapshot. What is missing is derived from the rest,
// or of no interest to the next event.
type savedState struct {
	Version    int         `json:"version"`
	Graph      string      `json:"graph"`
	RunID      string      `json:"run_id"`
	Group      string      `json:"group,omitempty"`
	Status     Status      `json:"status"`
	Quality    Quality     `json:"quality,omitempty"`
	Reason     string      `json:"reason,omitempty"`
	Limited    bool        `json:"limited,omitempty"`
	Failure    *int        `json:"failure,omitempty"`
	PausedAt   *Breakpoint `json:"paused_at,omitempty"`
	Output     any         `json:"output,omitempty"`
	Superstep  int         `json:"superstep"`
	Steps      int         `json:"steps"`
	ChildSteps int         `json:"child_steps,omitempty"`

	Limits      spec.Limits    `json:"limits"`
	Goal        string         `json:"goal,omitempty"`
	BreakBefore []string       `json:"break_before,omitempty"`
	BreakAfter  []string       `json:"break_after,omitempty"`
	PauseDue    bool           `json:"pause_due,omitempty"`
	Edits       map[string]any `json:"edits,omitempty"`
	Parent      *ParentInfo    `json:"parent,omitempty"`
	Began       int64          `json:"began"`
	Now         int64          `json:"now"`
	PausedFrom  int64          `json:"paused_from,omitempty"`
	Deadline    int64          `json:"deadline,omitempty"`
	Degraded    bool           `json:"degraded,omitempty"`
	Closing     *savedEnding   `json:"closing,omitempty"`
	Violated    *savedEnding   `json:"violated,omitempty"`
	Final       *savedFinale   `json:"final,omitempty"`
	Endings     int            `json:"endings,omitempty"`
	Open        bool           `json:"open,omitempty"`

	Env     map[string]any `json:"env"`
	Visits  map[string]any `json:"visits,omitzero"`
	History map[string]any `json:"history,omitzero"`
	ByNode  map[string]any `json:"nodes,omitzero"`
	Extra   []string       `json:"extra,omitempty"`
	// Counts are those of nodes and edges above 0, as pairs of index and count.
	NodeCounts [][2]int       `json:"node_counts,omitempty"`
	EdgeCounts [][2]int       `json:"edge_counts,omitempty"`
	Partial    []savedPartial `json:"partial,omitempty"`
	Reasons    []savedReason  `json:"reasons,omitempty"`
	Succeeded  [][2]int       `json:"succeeded,omitempty"`

	Tasks        []savedTask    `json:"tasks,omitempty"`
	Next         []savedTask    `json:"next,omitempty"`
	Parked       []savedTask    `json:"parked,omitempty"`
	ReadyTasks   int            `json:"ready_tasks,omitempty"`
	RunningTasks int            `json:"running_tasks,omitempty"`
	WaitingTasks int            `json:"waiting_tasks,omitempty"`
	NextReady    int            `json:"next_ready,omitempty"`
	Mixed        bool           `json:"mixed,omitempty"`
	Fanouts      int            `json:"fanouts,omitempty"`
	Fans         []savedFanout  `json:"fans,omitempty"` // outer ones first
	Laned        []int          `json:"laned,omitempty"`
	Barriers     []savedBarrier `json:"barriers,omitempty"`
	Expiries     []savedExpiry  `json:"expiries,omitempty"`
	Deciding     int            `json:"deciding,omitempty"`
	Routes       []savedRoute   `json:"routes,omitempty"`
	Refused      int            `json:"refused,omitempty"`
	Grants       grants         `json:"grants,omitzero"`
	OutOfSteps   bool           `json:"out_of_steps,omitempty"`
	NoStep       bool           `json:"no_step,omitempty"`
	Rounds       int            `json:"rounds,omitempty"`
	LastEnd      any            `json:"last_end,omitempty"`
	LastOutput   any            `json:"last_output,omitempty"`
	Order        int            `json:"order,omitempty"`
	Logs         []savedLog     `json:"logs,omitempty"`
	Failures     []savedFailure `json:"failures,omitempty"`

	Conversation conversation  `json:"conversation,omitzero"`
	Threads      []savedThread `json:"threads,omitempty"`
	LastThread   int           `json:"last_thread,omitempty"`
	EndThread    int           `json:"end_thread,omitempty"`
	Models       ModelSettings `json:"models,omitzero"`
	Usage        Usage         `json:"usage,omitzero"`
	Scripted     []Usage       `json:"scripted,omitempty"`
}

// savedEnding is ending.
type savedEnding struct {
	Status  Status `json:"status"`
	Reason  string `json:"reason"`
	Failure *int   `json:"failure,omitempty"`
}

// savedReason is why a node ended as it did.
type savedReason struct {
	Node   int    `json:"node"`
	Reason string `json:"reason"`
}

// savedPartial is what an interrupted node had produced.
type savedPartial struct {
	Node  int `json:"node"`
	Value any `json:"value"`
}

// savedLog is what an attempt has noted.
type savedLog struct {
	Task  TaskID `json:"task"`
	Notes []any  `json:"notes"`
}

// savedFailure is a Failure with its details written like other data.
type savedFailure struct {
	Failure
	Details map[string]any `json:"details,omitzero"`
}

// MarshalJSON writes the state as a snapshot; Plan.Restore reads it.
func (s *State) MarshalJSON() ([]byte, error) {
	out, _, err := s.AppendSnapshot(nil, math.MaxInt)
	return out, err
}

// AppendSnapshot appends the state as JSON, which Plan.Restore reads. Between
// two events it is all that the events so far determine. A state that takes
// more than limit bytes does not fit, and is given up when that shows: dst is
// returned as it was.
func (s *State) AppendSnapshot(dst []byte, limit int) (out []byte, fits bool, err error) {
	k := &saver{packer: newPacker(limit), state: s}
	saved, err := json.Marshal(k.save())
	if k.err != nil {
		err = k.err
	}
	const frame = len(`{"values":[],"state":}`)
	if err == nil && len(saved)+len(k.values)+frame > limit {
		err = errTooLarge
	}
	if errors.Is(err, errTooLarge) {
		return dst, false, nil
	}
	if err != nil {
		return dst, false, fmt.Errorf("state of run %q can't be written: %w", s.RunID, err)
	}
	out = append(dst, `{"values":[`...)
	out = append(append(out, k.values...), `],"state":`...)
	return append(append(out, saved...), '}'), true, nil
}

// Restore reads a state that the plan's graph had led to. Secrets are no part
// of it: give them with SetSecrets. The errors are those of a text that is no
// snapshot, or one of another version or graph.
func (p *Plan) Restore(text []byte) (*State, error) {
	var whole struct {
		Values []any      `json:"values"`
		State  savedState `json:"state"`
	}
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber()
	if err := in.Decode(&whole); err != nil {
		return nil, fmt.Errorf("snapshot can't be read: %w", err)
	}
	saved := &whole.State
	switch {
	case saved.Version != snapshotVersion:
		return nil, fmt.Errorf("snapshot has version %d; this one reads %d", saved.Version, snapshotVersion)
	case saved.Graph != p.fingerprint():
		return nil, errors.New("snapshot is one of another graph")
	}
	r := &restorer{plan: p, state: p.NewState()}
	r.values = make([]any, 0, len(whole.Values))
	for _, value := range whole.Values {
		r.values = append(r.values, r.unpack(value))
	}
	r.restore(saved)
	if r.err != nil {
		return nil, fmt.Errorf("snapshot can't be read: %w", r.err)
	}
	return r.state, nil
}

// fingerprint tells graphs apart: nodes, edges and keys go by their index.
func (p *Plan) fingerprint() string {
	if p.Graph.File == nil {
		return ""
	}
	sum := sha256.Sum256(append(slices.Clip(p.Graph.Whole().Text()), p.Graph.Ref()...))
	return hex.EncodeToString(sum[:8])
}

// transient are the names of the environment that are set before every use.
func (p *Plan) transient(name string) bool {
	switch name {
	case "goal", "run":
		return false
	}
	return slices.Contains(p.context, name)
}
