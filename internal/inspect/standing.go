// What statuses, qualities and reasons of runs mean.

package inspect

// Standing is a status, a quality or a reason of a run, and what it means.
type Standing struct {
	Name string `json:"name"`
	Doc  string `json:"doc"`
}

// Standings are all of them.
var Standings = []Standing{
	{"completed", "Status: a branch reached END and none is left. Exit code 0."},
	{"failed", "Status: a node failed and no edge took the failure, or a policy was violated. Exit code 1. graphrun why RUN tells more, graphrun resume RUN tries again."},
	{"stuck", "Status: no edge of a node fired although it has some. Exit code 4. graphrun why RUN shows every candidate with the values that it read; add a fallback edge."},
	{"limit", "Status: a limit ended the run. Exit code 5; the reason says which. graphrun resume RUN goes on with the limit anew."},
	{"paused", "Status: the run waits for a person, a breakpoint or a moment. Exit code 10. graphrun runs pending lists the questions."},
	{"cancelled", "Status: somebody cancelled the run. Exit code 130. graphrun resume RUN goes on."},
	{"running", "Status: a process drives the run."},
	{"crashed", "Status: the process that drove the run vanished. graphrun resume RUN goes on."},
	{"unreadable", "Status: the journal of the run can't be read; graphrun runs show RUN says why."},
	{"clean", "Quality: every node succeeded, after retries perhaps."},
	{"degraded", "Quality: the run completed through a failure edge, a dropped branch, a fallback decision, or return_last."},
	{"max_steps", "Reason of limit: limits.max_steps node executions were taken."},
	{"no_edge", "Reason of stuck: no edge of the last node fired."},
	{"node_failed", "Reason of failed: a node failed and no edge took the failure."},
	{"human", "Reason of paused: only people can let the run go on; graphrun answer RUN NODE=VALUE."},
	{"wait", "Reason of paused: only time has to pass; graphrun resume --due goes on then."},
	{"pause", "Reason of paused: a breakpoint, or graphrun runs pause; graphrun resume RUN goes on."},
	{"concurrency", "Reason of paused: the run waits for others of its group."},
	{"size", "Reason of limit: the state takes more than limits.max_state_bytes."},
}
