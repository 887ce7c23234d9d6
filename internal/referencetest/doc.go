// Package referencetest is a slow second implementation of the language, for tests only. It follows the
// documentation literally, and shares only the parser and the expressions with the machine.
//
// Start runs a Flow in virtual time against a World, which scripts attempts, people and decisions, and
// how long each takes; Run.Resume continues a run that paused or did not complete. Result holds path,
// state, what every step saw, and how the run ended. RandomGraph makes graphs, Chance is a world for
// them, Shrink makes a failing graph smaller, and Cases are flows with known results.
//
// A run is a set of tokens, one at the end of each branch, and a set of finished steps. A token knows
// its past as a set of steps; state, visits and history are computed from that set whenever they are
// needed, so that nothing here is incremental. Only the result of reachability is kept, since it
// depends on the graph alone. Sections (§) are those of the language's page.
//
// Result.Timed reports that timing may have decided something: a quorum that did not wait for all, a
// limit, a timeout, a cancellation, a failure while other branches existed. Results that are not Timed
// are the same however long steps take.
//
// # Decisions
//
// Where the page leaves a choice, this package decides as follows.
//
// Merging (§7):
//
//   - The writes of failed and cancelled branches are placed directly after the split at which they are
//     merged, before all other writes after that split. Writes before the split stay before them. At a
//     merge further out they move directly after that split.
//   - A write with `replace` that has another one in its past wins, wherever the two stand in merge
//     order. Of the others, those of lost branches included, the policies of the innermost fan-outs
//     decide first; first_wins compares the first writes since the split.
//   - A merged value that violates its schema changes nothing.
//   - Branches that `drop` ends count as ended, not as failed: their writes stay in path order.
//   - history lists the outputs of successful visits, in merge order.
//   - The state of an unfinished run whose branches conflict shows the last write.
//
// Joins (§7):
//
//   - Implicit joins: the first node of a branch counts as reached without an edge. Paths do not pass
//     the node where the fan-out began, and that node is never the join. `ends` and `always` edges
//     belong to paths. If the first node in this order has a `join`, the fan-out has no implicit join.
//   - At an implicit join only branches of the fan-out that it joins wait for each other, nested ones
//     included.
//   - A path along failure edges counts for "can still reach".
//   - A quorum fails only when no token can reach the join any more, however few branches are left,
//     since a branch may still fan out. It also fails if it is the first of several joins that wait for
//     each other.
//   - A detour (a failure edge that was taken) bypasses a join where the detour's step is not in the
//     past of what arrived, and nothing arrived from the branch it was on.
//   - `fail` without an arrival applies to a join that two branches of the fan-out can reach, and that
//     the detour's step reaches without passing another join. Its past is the past of the split.
//   - For failures, a joined token is outside of each of its fan-outs with two branches that can reach
//     the join, even if it arrived alone.
//   - inputs is keyed by source, input likewise as soon as two tokens arrived. `branches` holds,
//     whatever the policy, the output of each source that arrived, and the error of each failed branch
//     by the node that failed; an output beats an error.
//
// Failures (§4, §6, §7):
//
//   - `wait_all` differs from `continue_others` in two things: when all branches failed, the join runs
//     and receives the errors, and branches.<node>.error is also set for a branch that failed where no
//     path led to the join any more. Otherwise a fan-out all of whose branches failed has failed, with
//     the error of the branch that is declared first.
//   - Dropping a branch cancels every token on it; a failed branch's step is in the past of what it is
//     merged into. A cancelled step is in no past and not in the path, but it counts as an execution.
//   - A failed expression of a node is a failure of the node, which its failure edges can take; if none
//     does, the graph ends at once. A failed expression of an edge ends the graph at once. In a
//     subgraph that is a failure of kind child_failed of the graph node.
//   - A visit that max_visits refuses is not a step: it is not in the path and counts neither as
//     execution nor as visit. It has a rank, and the limit for refusals is the limit for steps.
//   - `goto` of the output counts only with `ends`; labels are checked with the output.
//   - step_timeout does not bound human nodes; node_timeout bounds an attempt of any other kind, waits
//     and subgraphs included.
//   - branch_timeout fails a branch on which something runs or is ready. It is a failure of the branch:
//     no edge of a node applies.
//   - Without `retry` the delays are 1s and 2s, without jitter. No jitter is modelled.
//
// Concurrency and limits (§5, §11):
//
//   - Only attempts with effects take a slot; set, pass, fail, wait, human and graph don't. An attempt
//     takes a slot in its graph and in all enclosing graphs.
//   - The window of `each` counts elements that have begun and have not ended.
//   - `path`, `step` and visits belong to one graph; executions count in all enclosing graphs. At
//     max_steps the run waits for running steps and open questions.
//   - After a resume the limit that ended the run starts again at zero. A step that made a run stuck,
//     whose edge failed, or which broke a policy, runs again. After a failure inside a subgraph the
//     resume continues inside it; in `each`, finished elements stay finished.
//   - The nodes of finally are not in the path; their visits and writes come after all others. A
//     subgraph that is cut off does not run its own. No grace is modelled.
//   - return_last takes the last step's output when no branch has reached END.
//   - A degraded result of a subgraph makes the run degraded.
//
// Policies (§10):
//
//   - `after: x` means that x ran, `require: x` that it succeeded, in the step's past. A violation is
//     found when the step begins, that of `never` when it has succeeded.
//
// Not covered: models' conversations, tools, caches, secrets, budgets, sessions, `once`,
// `last`, `wait: until`, and `when` of a retry.
package referencetest
