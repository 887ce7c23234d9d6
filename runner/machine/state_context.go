// What expressions see (GraphSpec §8), kept up to date only as far as the
// plan's expressions ask.

package machine

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/graphrun/graphrun/internal/bind"
)

// loadInput puts the run's input into the state; undeclared keys are allowed
// when the graph says so.
func (s *State) loadInput(input map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(input)) {
		value := input[name]
		if i, ok := s.plan.keyOf[name]; ok {
			value = s.plan.keys[i].schema.Normalise(value)
			s.resize(i, sizeOf(value))
		} else {
			if old, again := s.env[name]; again {
				s.size -= sizeOf(old)
			} else {
				s.extra = append(s.extra, name)
			}
			s.size += sizeOf(value)
		}
		s.env[name] = value
	}
}

// loadContext sets the names that stay the same for the whole run, those that
// an expression reads: an environment of few names is quicker to look into.
func (s *State) loadContext(input map[string]any, dir string) {
	p := s.plan
	runInput := input
	if runInput == nil {
		runInput = map[string]any{}
	}
	if len(s.secrets) > 0 {
		s.env["secrets"] = s.secrets
	}
	if p.wanted&useGoal != 0 {
		s.env["goal"] = s.goal
	}
	if p.wanted&useRun != 0 {
		s.env["run"] = map[string]any{
			"id": s.RunID, "input": runInput, "status": string(Running), "reason": "",
			"started_at": timeText(s.began), "dir": dir,
		}
	}
	if p.wanted&useVisits != 0 {
		s.visits = make(map[string]any, len(p.watched))
		for _, i := range p.watched {
			s.visits[p.nodes[i].id] = 0
		}
		s.env["visits"] = s.visits
	}
	if p.wanted&useHistory != 0 {
		s.hist = make(map[string]any, len(p.watched))
		for _, i := range p.watched {
			s.hist[p.nodes[i].id] = []any{}
		}
		s.env["history"] = s.hist
	}
	if p.wanted&useNodes != 0 {
		s.byNode = make(map[string]any, len(p.watched))
		for _, i := range p.watched {
			s.byNode[p.nodes[i].id] = nil
			s.showNode(i, nil, nil, nil)
		}
		s.env["nodes"] = s.byNode
	}
}

// own makes the maps of visits, history and nodes the run's own again: those
// that expressions have seen as a whole may be part of the state by now.
func (s *State) own() {
	for _, m := range [...]struct {
		name string
		of   *map[string]any
	}{{"visits", &s.visits}, {"history", &s.hist}, {"nodes", &s.byNode}} {
		if *m.of != nil {
			*m.of = maps.Clone(*m.of)
			s.env[m.name] = *m.of
		}
	}
}

// countVisit shows a new visit, and that nothing has come of it yet.
func (s *State) countVisit(node int, ns *nodeState) {
	if s.plan.shown {
		s.own()
	}
	if s.visits != nil {
		id := s.plan.nodes[node].id
		if _, watched := s.visits[id]; watched {
			s.visits[id] = ns.visits
		}
	}
	s.showNode(node, nil, nil, nil)
}

// showNode shows what has come of the last visit of a node.
func (s *State) showNode(node int, output, outcome any, failure *Failure) {
	if s.byNode == nil {
		return
	}
	id := s.plan.nodes[node].id
	if _, watched := s.byNode[id]; !watched {
		return
	}
	s.byNode[id] = map[string]any{
		"output": output, "visits": s.Visits(node), "outcome": outcome, "error": failureData(failure),
		"partial": s.memory.partial[node], "reason": s.memory.reasonOf(node),
	}
}

// showPartial shows what a cancelled execution had produced.
func (s *State) showPartial(node int) {
	id := s.plan.nodes[node].id
	if seen, watched := s.byNode[id].(map[string]any); watched {
		if s.plan.shown {
			s.own()
		}
		seen = maps.Clone(seen)
		seen["partial"], seen["visits"] = s.memory.partial[node], s.Visits(node)
		s.byNode[id] = seen
	}
}

// showEnd shows how an execution has ended. A skipped visit is a success without
// an output.
func (s *State) showEnd(t *task) {
	if s.plan.shown {
		s.own()
	}
	switch {
	case t.status == failed:
		s.showNode(t.node, nil, outcome(t), t.failure)
		return
	case t.skipped:
		s.showNode(t.node, nil, outcome(t), nil)
		return
	}
	s.lastOutput, s.lastThread = t.output, t.thread
	if s.hist == nil && s.byNode == nil {
		return
	}
	output := Plain(t.output)
	id := s.plan.nodes[t.node].id
	if list, watched := s.hist[id].([]any); watched {
		s.hist[id] = append(list, output)
		s.size += sizeOf(output)
	}
	s.showNode(t.node, output, outcome(t), nil)
}

// setContext sets the names that an expression in the context of a task reads.
func (s *State) setContext(mask uses, t *task) {
	if mask != 0 { // mostly it reads state keys alone
		s.setNames(mask, t)
	}
}

func (s *State) setNames(mask uses, t *task) {
	if mask&useNow != 0 {
		if run, ok := s.env["run"].(map[string]any); ok {
			run = maps.Clone(run) // somebody may have kept it
			run["now"] = timeText(s.now)
			s.env["run"] = run
		}
	}
	for i := range contextNames {
		if mask&contextNames[i].bit == 0 {
			continue
		}
		var value any
		switch contextNames[i].bit {
		case useOutput:
			value = Plain(t.output)
		case useInput:
			value = s.inputOf(t)
		case useInputs:
			value = s.inputsOf(t)
		case useOutcome:
			value = outcome(t)
		case useError:
			value = failureData(errorOf(t))
		case useNode:
			value = s.plan.nodes[t.node].id
		case useVisit:
			value = t.visit
		case useStep:
			if value = t.step; t.step == 0 { // it takes none: refused, or in finally
				value = s.Steps
			}
		case useLast:
			value = t.thread.last()
		case useState:
			value = s.Values()
		case useBranches:
			value = t.branches
			if t.branches == nil {
				value = map[string]any{}
			}
		default: // visits, history, nodes are kept up to date
			continue
		}
		s.env[contextNames[i].name] = value
	}
}

// setOwn is setContext for the node's own expressions, which see of the state
// what the node reads.
func (s *State) setOwn(n *node, t *task) {
	s.setContext(n.uses, t)
	if n.uses&useState != 0 && !n.readAll {
		s.env["state"] = s.readable(n)
	}
}

// timeText is a moment as expressions see it.
func timeText(at int64) string { return time.Unix(0, at).UTC().Format(time.RFC3339Nano) }

// become gives the state of a run to a fork of it, which has another id.
func (s *State) become(info *RunInfo) {
	if info.ID == "" || info.ID == s.RunID {
		return
	}
	s.RunID = info.ID
	if run, ok := s.env["run"].(map[string]any); ok {
		run = maps.Clone(run)
		run["id"], run["dir"] = info.ID, info.Dir
		s.env["run"] = run
	}
}

// RunDir is the folder of the run; empty where no expression reads it.
func (s *State) RunDir() string {
	run, _ := s.env["run"].(map[string]any)
	dir, _ := run["dir"].(string)
	return dir
}

// inputOf is the task's input: that of its source, or an object keyed by
// source when there are several.
func (s *State) inputOf(t *task) any {
	if len(t.inputs) > 1 {
		return s.inputsOf(t)
	}
	return Plain(t.input)
}

// passed is the input as a pass node's output: an object stays as it is.
func (s *State) passed(t *task) any {
	if len(t.inputs) > 1 {
		return s.inputsOf(t)
	}
	return t.input
}

func (s *State) inputsOf(t *task) any {
	out := make(map[string]any, len(t.inputs))
	for _, in := range t.inputs {
		out[s.plan.nodes[in.node].id] = Plain(in.value)
	}
	return out
}

// readable is the part of the state that a node may read.
func (s *State) readable(n *node) map[string]any {
	if n.readAll {
		return s.Values()
	}
	out := make(map[string]any, len(n.reads))
	for _, i := range n.reads {
		name := s.plan.keys[i].name
		if value, ok := s.Value(name); ok {
			out[name] = value
		}
	}
	return out
}

func outcome(t *task) any {
	if t.failure != nil {
		return "failure"
	}
	return "success"
}

// errorOf is the failure of the task's node or, until it has ended, the one
// after which an edge led to it.
func errorOf(t *task) *Failure {
	if t.failure == nil && t.status < succeeded {
		return t.led
	}
	return t.failure
}

// failureData is a failure as expressions see it.
func failureData(f *Failure) any {
	if f == nil {
		return nil
	}
	details := f.Details
	if details == nil {
		details = map[string]any{}
	}
	return map[string]any{
		"kind": f.Kind, "message": f.Message, "node": f.Node, "attempt": f.Attempt, "details": details,
	}
}

// addBefore adds the values of `before` to the task's input.
func (p *Plan) addBefore(s *State, t *task, n *node) *Failure {
	s.setOwn(n, t)
	values, err := bind.EvalFields(n.before, &s.vm, s.env)
	if err != nil {
		return &Failure{Kind: "expression", Message: "before: " + err.Error()}
	}
	switch input := Plain(t.input).(type) {
	case nil:
	case map[string]any:
		for name, value := range input { //lint:ignore mapiter the result is a map
			if _, taken := values[name]; !taken {
				values[name] = value
			}
		}
	default:
		if _, taken := values["value"]; !taken {
			values["value"] = input
		}
	}
	t.input = values
	return nil
}

// transient are the names of the environment that are set before every use.
func (p *Plan) transient(name string) bool {
	switch name {
	case "goal", "run":
		return false
	}
	return slices.Contains(p.context, name)
}

// env is the environment without what is set before every use, and without what
// is written elsewhere.
func (k *saver) env() map[string]any {
	s := k.state
	if s.env == nil {
		return nil
	}
	out := make(map[string]any, len(s.env))
	for _, name := range slices.Sorted(maps.Keys(s.env)) {
		if !s.plan.transient(name) {
			out[name] = k.pack(s.env[name])
		}
	}
	return out
}

// restoreEnv sets the environment; what expressions see of visits, history and
// nodes are the very maps that the run keeps up to date.
func (r *restorer) restoreEnv(in *savedState) {
	s := r.state
	s.env = r.unpackMap(in.Env)
	if s.env == nil {
		if in.Status != "" {
			r.fail(errors.New("a run that has begun has values"))
		}
		return
	}
	s.visits, s.hist, s.byNode = r.unpackMap(in.Visits), r.unpackMap(in.History), r.unpackMap(in.ByNode)
	if s.visits != nil {
		s.env["visits"] = s.visits
	}
	if s.hist != nil {
		s.env["history"] = s.hist
	}
	if s.byNode != nil {
		s.env["nodes"] = s.byNode
	}
	s.extra = in.Extra
	s.measure()
}
