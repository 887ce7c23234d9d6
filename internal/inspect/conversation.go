// The conversation of a run, by who said what in which execution.

package inspect

import (
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/view"
)

// Conversation is what the nodes of a run added to it, in order, those of subgraphs
// too; node, a path, is the only one wanted unless it is empty.
func Conversation(r *runner.Runner, record *store.RunRecord, node string) ([]view.Spoken, error) {
	sink := &spokenSink{only: node, list: []view.Spoken{}}
	_, err := r.Show(record.ID, runner.Options{Sink: sink, History: true})
	return sink.list, err
}

// spokenSink keeps what was said.
type spokenSink struct {
	only string
	list []view.Spoken
}

// Event leaves an event to others.
func (s *spokenSink) Event(*runner.Event) error { return nil }

// Spoken keeps what was said.
func (s *spokenSink) Spoken(told *view.Spoken) error {
	if s.only == "" || s.only == told.Node {
		s.list = append(s.list, *told)
	}
	return nil
}
