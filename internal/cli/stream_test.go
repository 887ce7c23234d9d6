package cli

import (
	"slices"
	"testing"

	"github.com/graphrun/graphrun/runner"
)

func TestStreamFilter(t *testing.T) {
	all := []runner.EventType{
		runner.RunStarted, runner.BranchesStarted, runner.NodeStarted, runner.NodeRetrying, runner.NodeOutput,
		runner.NodeEvent, runner.LLMUsage, runner.ToolCalled, runner.NodeCompleted, runner.NodeFailed,
		runner.EdgesResolved, runner.StateUpdated, runner.Checkpoint, runner.BranchesJoined, runner.RunPaused,
		runner.RunResumed, runner.RunFinished,
	}
	run := []runner.EventType{runner.RunStarted, runner.RunPaused, runner.RunResumed, runner.RunFinished}
	tasks := []runner.EventType{
		runner.BranchesStarted, runner.NodeStarted, runner.NodeRetrying, runner.NodeOutput, runner.NodeEvent,
		runner.ToolCalled, runner.NodeCompleted, runner.NodeFailed, runner.BranchesJoined,
	}
	for _, c := range []struct {
		groups []string
		want   []runner.EventType
	}{
		{[]string{"messages"}, []runner.EventType{runner.NodeOutput, runner.LLMUsage}},
		{[]string{"updates"}, []runner.EventType{runner.StateUpdated, runner.EdgesResolved}},
		{[]string{"tasks"}, tasks},
		{[]string{"checkpoints"}, []runner.EventType{runner.Checkpoint}},
		{[]string{"custom"}, []runner.EventType{runner.NodeEvent}},
		{[]string{"debug"}, append(slices.Clone(tasks), runner.Checkpoint)},
		{[]string{"custom", "checkpoints"}, []runner.EventType{runner.NodeEvent, runner.Checkpoint}},
	} {
		want := append(slices.Clone(run), c.want...)
		for _, e := range all {
			if kept := isInGroups(e, c.groups); kept != slices.Contains(want, e) {
				t.Errorf("%v: %s is let through: %v", c.groups, e, kept)
			}
		}
	}
	for _, e := range all {
		if !isInGroups(e, nil) {
			t.Errorf("without groups, %s is dropped", e)
		}
	}
}
