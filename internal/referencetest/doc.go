// Package referencetest is a slow second reading of the language, for tests only: it
// interprets a graph as the pages say, and shares nothing with the machine but the
// parser and the expressions. Only tests import it.
//
// Start runs a Flow in virtual time against a World, which scripts attempts, people and
// decisions, and how long each takes; Run.Resume goes on with a run that paused or did
// not complete. Result holds path, state, what every step saw, and how the run ended.
// Random makes graphs, Chance is a world for them, Shrink leaves out of one what it can,
// Cases are flows with known results.
//
// A run is a set of tokens, one at the end of each branch, and a set of finished steps.
// A token knows its past as a set of steps; state, visits and history are folded from
// that set whenever they are needed, so that nothing here is incremental. Only the result
// of reachability is kept, since it depends on the graph alone. Sections (§) are those of
// the language's page.
//
// Result.Timed says that time may have decided something: a quorum that left others
// behind, a limit, a timeout, a cancellation, a failure while other branches existed.
// Results that are not Timed are the same however long steps take.
//
// # Decisions
//
// Where the page leaves room, these readings are taken.
//
// Merging (§7):
//
//   - The writes of failed and cancelled branches stand right behind the split at which
//     they are merged, before all that came after that split; what was written before the
//     split stays before them. At a merge further out they move right behind that split.
//   - A write with `replace` that has another one in its past wins, wherever the two stand
//     in merge order. Of the others, those of lost branches included, the policies of the
//     innermost fan-outs decide first; first_wins compares the first writes since the split.
//   - A merged value that its schema does not take changes nothing.
//   - The branches that `drop` ends count as ended, not as failed: their writes stay in
//     path order.
//   - history lists the outputs of successful visits, in merge order.
//   - Showing an unfinished run whose branches conflict takes the last write.
//
// Joins (§7):
//
//   - Implicit joins: the beginning of a branch is reached by a way of no edges; ways do
//     not pass the node where the fan-out began, and that node is never the join; `ends`
//     are ways, `always` edges too. A node with `join` that is first in this order makes
//     the fan-out have no implicit one.
//   - At an implicit join only branches of the fan-out that it joins wait for each other,
//     nested ones included.
//   - A way along failure edges counts for "can still reach".
//   - A quorum is given up when nobody may come any more, however many branches are left
//     before that, since a branch may still fan out. A quorum whose turn comes because all
//     wait for each other is given up likewise.
//   - A detour (a failure edge that was taken) bypasses a join where the detour's step is
//     not in the past of what arrived, and nothing arrived from the branch it was on.
//   - `fail` with nobody arrived: for a join that two branches of the detour's innermost
//     fan-out can reach, which no way passing another join separates from it. Its past is
//     that of the split.
//   - A joined token is outside of every fan-out of its own for failures where two of the
//     branches can reach the join, also when it arrived alone.
//   - inputs is keyed by source, input likewise as soon as two tokens arrived. `branches`
//     holds, whatever the policy, the output of each source that arrived, and the error of
//     each failed branch by the node that failed; an output beats an error.
//
// Failures (§4, §6, §7):
//
//   - `wait_all` differs from `continue_others` in two things: when all branches failed, the
//     join runs and is given the errors, and branches.<node>.error is there also for a
//     branch that failed where no way led to the join any more. Otherwise a fan-out all of
//     whose branches failed has failed, with the error of the branch that is declared first.
//   - A dropped branch is all that stands on it; a failed branch's step is in the past of
//     what it is merged into. A cancelled step is in no past and not in the path, but it
//     counts as an execution.
//   - An expression of a node that fails is a failure of the node, for its failure edges; if
//     none takes it, the graph ends at once. One of an edge ends the graph at once. In a
//     subgraph that is a failure of kind child_failed of its node.
//   - A visit that max_visits refuses is not a step: it is not in the path and counts neither
//     as execution nor as visit. It has a rank, and as many are allowed as steps.
//   - `goto` of the output counts only with `ends`; labels are checked with the output.
//   - step_timeout does not bound human nodes; node_timeout bounds an attempt of any other
//     kind, waits and subgraphs included.
//   - branch_timeout fails a branch on which something runs or is ready. It is a failure of
//     the branch: no edge of a node applies.
//   - Without `retry` the delays are 1s and 2s, without jitter. No jitter is modelled.
//
// Room and limits (§5, §11):
//
//   - Only attempts with effects take a place; set, pass, fail, wait, human and graph don't.
//     An attempt takes a place in its graph and in all graphs around.
//   - The window of `each` counts elements that have begun and have not ended.
//   - `path`, `step` and visits are of one graph; executions count in all around. At
//     max_steps the run waits for what runs, questions included.
//   - A resume after a limit has the whole limit again. A step that made a run stuck, whose
//     edge failed, or which broke a policy, runs again. After a failure within a subgraph
//     the resume goes on within it; in `each`, finished elements stand.
//   - The nodes of finally are not in the path; their visits and writes count, behind
//     everything else. A subgraph that is cut off does not run its own. No grace is modelled.
//   - return_last takes the last step's output when no branch has reached END.
//   - Results of subgraphs that are degraded make the run degraded.
//
// Policies (§10):
//
//   - `after: x` means that x ran, `require: x` that it succeeded, in the step's past. A
//     violation is found when the step begins, that of `never` when it has succeeded.
//
// Not covered: models' conversations, tools, caches, secrets, budgets, sessions, `once`,
// `last`, `wait: until`, and `when` of a retry.
package referencetest
