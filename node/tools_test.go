package node

import (
	"fmt"
	"testing"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
)

// callTools reports how many calls run in parallel. A single call, and sequential calls, run in
// the task itself and are not reported.
func TestParallelCalls(t *testing.T) {
	for _, test := range []struct {
		calls      int
		sequential bool
		want       string
	}{{1, false, "[]"}, {2, false, "[2 -1 -1]"}, {3, true, "[]"}} {
		scope := handler.NewScope(nil, "")
		t.Cleanup(scope.Close)
		changes := make(chan int, 4)
		task := &runner.Task{Node: "t", Visit: 1, Scope: scope, AddParallel: func(change int) { changes <- change }}
		calls := make([]toolCall, test.calls)
		for i := range calls {
			calls[i] = toolCall{ToolCall: model.ToolCall{Name: "none", ID: fmt.Sprint(i)}, number: i}
		}
		answers, err := (&toolkit{}).callTools(t.Context(), task, nil, calls, test.sequential)
		if err != nil || len(answers) != test.calls {
			t.Fatalf("%d answers, %v", len(answers), err)
		}
		close(changes)
		got := []int{}
		for change := range changes {
			got = append(got, change)
		}
		if fmt.Sprint(got) != test.want {
			t.Errorf("%d calls, sequential %v: %v, want %v", test.calls, test.sequential, got, test.want)
		}
	}
}
