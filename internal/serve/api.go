// The list of operations.

package serve

import "net/http"

// none is what an operation takes that takes nothing, or gives that gives nothing.
type none struct{}

// api is all that the API can do.
func (s *Server) api() []operation {
	list := []operation{
		does(operation{method: "GET", path: "/health", id: "health", tag: "server", summary: "Whether the server lives", open: true}, s.health),
		does(operation{method: "GET", path: "/ready", id: "ready", tag: "server", summary: "Whether the server takes work: 503 while it stops", open: true}, s.ready),
		does(operation{method: "GET", path: "/server", id: "server", tag: "server", summary: "What this server is"}, s.about),
		streams(operation{method: "GET", path: "/metrics", id: "metrics", tag: "server", summary: "Counters for Prometheus"}, "text/plain", s.metrics),
		streams(operation{method: "GET", path: "/openapi.json", id: "openapi", tag: "server", summary: "This description"}, "application/json", s.openapi),

		does(operation{method: "GET", path: "/flows", id: "listFlows", tag: "flows", summary: "The flows below the folder that is served"}, s.listFlows),
		does(operation{method: "GET", path: "/flows/{flow...}", id: "getFlow", tag: "flows", summary: "A flow: drawing, source, findings, inputs, bounds"}, s.getFlow),

		does(operation{method: "GET", path: "/runs", id: "listRuns", tag: "runs", summary: "Runs, the last started first"}, s.listRuns),
		does(operation{method: "POST", path: "/runs", id: "startRun", tag: "runs", summary: "Start a run; with an Idempotency-Key, once", status: http.StatusCreated, also: map[int]string{http.StatusOK: "The run that the key has started before"}}, s.startRun),
		does(operation{method: "GET", path: "/runs/{run}", id: "getRun", tag: "runs", summary: "A run as it stands, or as it stood after a step"}, s.getRun),
		does(operation{method: "DELETE", path: "/runs/{run}", id: "deleteRun", tag: "runs", summary: "Forget a run and its journal", status: http.StatusNoContent}, s.deleteRun),
		does(operation{method: "GET", path: "/runs/{run}/page", id: "getRunPage", tag: "runs", summary: "All that is recorded of a run, with its flow as it was"}, s.getRunPage),
		streams(operation{method: "GET", path: "/runs/{run}/record", id: "getRunRecord", tag: "runs", summary: "What is recorded of a run, in pieces: a JSON object a line with events, decisions, what was said; the last has last_event"}, "application/x-ndjson", s.getRunRecord),
		does(operation{method: "GET", path: "/runs/{run}/state", id: "getRunState", tag: "runs", summary: "The state of a run as it stands, or after a step; secret keys are masked"}, s.getRunState),
		does(operation{method: "GET", path: "/runs/{run}/why", id: "getRunWhy", tag: "runs", summary: "Every edge that a step could have taken, and why it did or did not"}, s.getRunWhy),
		streams(operation{method: "GET", path: "/runs/{run}/events", id: "getRunEvents", tag: "runs", summary: "The events of a run, those so far and those to come, by server-sent events", also: map[int]string{http.StatusNoContent: "The run has ended, and the reader has all of its events"}}, "text/event-stream", s.getRunEvents),
		does(operation{method: "GET", path: "/runs/{run}/logs", id: "getRunLogs", tag: "runs", summary: "What programs and models said"}, s.getRunLogs),
		does(operation{method: "GET", path: "/runs/{run}/conversation", id: "getRunConversation", tag: "runs", summary: "What nodes asked models and got from them, tools included; only of tasks that have ended"}, s.getRunConversation),
		does(operation{method: "POST", path: "/runs/{run}/answers", id: "answerRun", tag: "runs", summary: "Answer what a run asks: all of the answers are taken, or none"}, s.answerRun),
		does(operation{method: "POST", path: "/runs/{run}/pause", id: "pauseRun", tag: "runs", summary: "Pause a run before its next nodes", status: http.StatusAccepted}, s.pauseRun),
		does(operation{method: "POST", path: "/runs/{run}/cancel", id: "cancelRun", tag: "runs", summary: "Cancel a run", status: http.StatusAccepted}, s.cancelRun),
		does(operation{method: "POST", path: "/runs/{run}/resume", id: "resumeRun", tag: "runs", summary: "Go on with a run that paused, crashed, failed or was cancelled", status: http.StatusAccepted}, s.resumeRun),
		does(operation{method: "POST", path: "/runs/{run}/fork", id: "forkRun", tag: "runs", summary: "Start a new run from a step of another one, its state edited or not", status: http.StatusCreated}, s.forkRun),
		does(operation{method: "GET", path: "/questions", id: "listQuestions", tag: "runs", summary: "Every open question of every run"}, s.listQuestions),
	}
	return list
}
