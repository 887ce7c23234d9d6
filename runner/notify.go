// Notifications of questions, reminders and the end of a run (GraphSpec §2, notify).

package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/view"
	"github.com/graphrun/graphrun/spec"
)

// Notifier sends notifications.
type Notifier struct {
	// Send makes one attempt to send a notice. It must return when ctx ends.
	Send func(ctx context.Context, notice Notice) error
	// Always is a graph whose `notify` applies to the runs of all graphs. It may be nil.
	Always *spec.Graph
}

// Notice is an entry of `notify` with its templates rendered.
type Notice struct {
	Graph *spec.Graph // of the run
	Dir   string      // resolves relative paths
	// Config holds the rendered url, headers and body, or the command.
	Config map[string]any
	// About holds the values that templates read, and a sentence under "text".
	About map[string]any
}

const (
	noticeTries = 3
	noticeTime  = 10 * time.Second // timeout of an attempt
	noticeDelay = time.Second      // before the second attempt; twice as long before the third
)

// notices sends the notifications of a run.
type notices struct {
	plans   []*machine.Plan
	sending sync.WaitGroup
	mu      sync.Mutex
	failed  []string
}

// newNotices returns nil if neither the graph nor Notifier.Always has `notify`.
func (f *Flow) newNotices() *notices {
	if f.runner.cfg.Notifier == nil {
		return nil
	}
	out := &notices{}
	if len(f.tree.Graph.Notify) > 0 {
		out.plans = append(out.plans, f.tree.Plan)
	}
	if f.runner.always != nil {
		out.plans = append(out.plans, f.runner.always)
	}
	if len(out.plans) == 0 {
		return nil
	}
	return out
}

// notifyQuestions sends a notification for each question and reminder of the last event.
func (d *driver) notifyQuestions() {
	if d.notices == nil {
		return
	}
	for i := range d.state.Notes() {
		n := &d.state.Notes()[i]
		on := map[machine.NoteKind]string{machine.NoteAsked: "question", machine.NoteReminded: "reminder"}[n.Kind]
		if on == "" {
			continue
		}
		pending := d.newPending(n.Question)
		text := fmt.Sprintf("run %s of %s asks at %s: %s", d.opts.RunID, d.plan.Graph.Name.Value, pending.Target(), pending.Prompt)
		if on == "reminder" {
			text = "still open: " + text
		}
		d.sendNotices(on, text, &pending, &Result{Status: d.state.Status})
	}
}

// notifyEnd sends the notifications of the end of the run and waits for all attempts.
func (d *driver) notifyEnd(result *Result) {
	if d.notices == nil {
		return
	}
	if d.state.HasEnded() {
		text := fmt.Sprintf("run %s of %s is %s", d.opts.RunID, d.plan.Graph.Name.Value, result.Status)
		if result.Error != nil {
			text += ": " + result.Error.Message
		}
		d.sendNotices(string(result.Status), text, nil, result)
	}
	d.notices.sending.Wait()
	for _, problem := range d.notices.failed {
		d.event = Event{Type: NodeEvent, Time: time.Unix(0, d.now()), Said: &Said{Type: "warning", Message: d.mask.MaskText(problem)}, live: true}
		d.emitEvent()
	}
}

// sendNotices sends the entries of `notify` for an occasion, such as question.
func (d *driver) sendNotices(on, text string, question *view.Pending, result *Result) {
	input := d.mask.MaskState(d.plan.Graph, d.state.Scope("").Input)
	about := map[string]any{
		"run": map[string]any{
			"id": d.opts.RunID, "graph": d.plan.Graph.Name.Value, "started_at": d.started.UTC().Format(time.RFC3339Nano), "input": input,
			"status": string(result.Status), "reason": result.Reason,
		},
		"question": toPlainData(question), "error": toPlainData(result.Error), "output": result.Output, "goal": d.mask.MaskText(d.opts.Goal),
	}
	for _, plan := range d.notices.plans {
		list, err := plan.Notices(on, about)
		if err != nil {
			d.notices.addFailure(on, err)
		}
		for _, config := range list {
			about := map[string]any{"on": on, "text": text, "run": about["run"], "question": about["question"], "error": about["error"], "output": about["output"]}
			d.notices.sending.Add(1)
			go d.notices.sendNotice(d.flow.runner.cfg.Notifier, on, Notice{Graph: d.plan.Graph, Dir: d.opts.Dir, Config: config, About: about})
		}
	}
}

// sendNotice tries to send a notification up to noticeTries times.
func (n *notices) sendNotice(by *Notifier, on string, notice Notice) {
	defer n.sending.Done()
	for try := 1; ; try++ {
		ctx, cancel := context.WithTimeout(context.Background(), noticeTime)
		err := by.Send(ctx, notice)
		cancel()
		if err == nil {
			return
		}
		if try == noticeTries {
			n.addFailure(on, err)
			return
		}
		_ = sleep(context.Background(), systemClock{}, noticeDelay*time.Duration(try))
	}
}

func (n *notices) addFailure(on string, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.failed = append(n.failed, fmt.Sprintf("notify %s: %v", on, err))
}

func toPlainData(v any) (out any) {
	if text, err := json.Marshal(v); err == nil {
		_ = json.Unmarshal(text, &out)
	}
	return out
}
