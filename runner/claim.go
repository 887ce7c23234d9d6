// Questions of subgraphs as the outermost run knows them.

package runner

import (
	"strconv"

	"github.com/graphrun/graphrun/runner/internal/answers"
	"github.com/graphrun/graphrun/runner/machine"
)

// outerID tells a question of the run apart from all others of the outermost run.
func (d *driver) outerID(q *machine.Question) string {
	for n := d.nested; n != nil; n = n.parent.nested {
		q = &machine.Question{Task: n.task, Ask: machine.Ask{ID: n.askID(q)}}
	}
	return answers.IDOf(q)
}

// unused says that an answer was of no use: what asked for it had ended meanwhile.
func (d *driver) unused(task machine.TaskID, target, by string) {
	if by != "" {
		by = " of " + by
	}
	d.said(&message{task: task, said: &Said{
		Type: "warning", Message: "the answer" + by + " for " + strconv.Quote(target) + " was not used: what asked for it had ended",
	}})
}
