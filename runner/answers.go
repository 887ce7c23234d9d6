// Answers given in advance, and whether they fit.

package runner

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/runner/internal/answers"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// target names a question of the run as an answer does.
func (n *nesting) target(q *machine.Question) string { return n.inTarget(q.Target()) }

// inTarget is a target, or the path of a node in one, as the outermost run names it.
func (n *nesting) inTarget(name string) string {
	if n == nil {
		return name
	}
	return n.prefix + "/" + name
}

// checkAnswers reports answers for questions that nobody can ask, that are answered
// already, or that are not legal, before anything is done.
func (d *driver) checkAnswers() error {
	failed := &InputError{Problems: d.flow.badTargets(&d.opts)}
	open, _, err := d.questions()
	if err != nil {
		return err
	}
	for _, target := range slices.Sorted(maps.Keys(d.opts.Answers)) {
		var problem error
		if i := answers.Find(open, target); i >= 0 {
			given := d.opts.Answers[target]
			problem = answers.Check(&open[i], given[:min(1, len(given))]) // an empty list answers nothing
		} else if text := d.answeredForGood(target); text != "" {
			problem = errors.New(text)
		}
		if problem != nil && !slices.Contains(failed.Problems, problem.Error()) {
			failed.Problems = append(failed.Problems, problem.Error())
		}
	}
	if len(failed.Problems) > 0 {
		return failed
	}
	return nil
}

// answeredForGood says who has answered a question that will not be asked again; "":
// it may be asked.
func (d *driver) answeredForGood(target string) string {
	node, _, _ := strings.Cut(target, "/")
	node, _, _ = strings.Cut(node, ":")
	if node = answers.WithoutIndexes(node); d.state.MayEnter(node) {
		return ""
	}
	last := d.lastAnswer(target)
	if last != nil && last.Kind == machine.TimerFired && d.state.Ended() {
		return "" // who takes the run up asks again
	}
	return d.tellAnswer(last)
}

// refuseAll refuses answers for a run that has completed.
func (d *driver) refuseAll() error {
	failed := &InputError{}
	for _, target := range slices.Sorted(maps.Keys(d.opts.Answers)) {
		failed.Problems = append(failed.Problems, d.unasked(target, nil).Error())
	}
	if len(failed.Problems) > 0 {
		return failed
	}
	return nil
}

// badTargets says which answers, breakpoints and model parameters of a run name
// no node.
func (f *Flow) badTargets(opts *Options) []string {
	var problems []string
	for _, target := range slices.Sorted(maps.Keys(opts.Answers)) {
		node, err := f.checkTarget(target)
		if err != nil {
			problems = append(problems, fmt.Sprintf("answer for %q: %v", target, err))
			continue
		}
		if err := checkLegal(node, target, opts.Answers[target]); err != nil {
			problems = append(problems, err.Error())
		}
	}
	for _, path := range slices.Concat(opts.PauseBefore, opts.PauseAfter) {
		if _, _, err := f.find(path, false); err != nil {
			problems = append(problems, fmt.Sprintf("breakpoint %q: %v", path, err))
		}
	}
	for _, p := range opts.ModelParams {
		if p.Node == "" {
			continue
		}
		if _, _, err := f.find(p.Node, false); err != nil {
			problems = append(problems, fmt.Sprintf("model parameter %q: %v", p.Node+":"+p.Key, err))
		}
	}
	return problems
}

// checkTarget finds the node that answers are for and reports a target that no
// question can have.
func (f *Flow) checkTarget(target string) (*spec.Node, error) {
	path, key, hasKey := strings.Cut(target, ":")
	flow, id, err := f.find(path, true)
	if err != nil {
		return nil, err
	}
	node := flow.graph.Node(id)
	kind := node.Kind.Value
	switch {
	case hasKey && key == "":
		err = fmt.Errorf("the key is empty")
	case hasKey && (kind == graphKind || slices.Contains(machineKinds(), kind)):
		err = fmt.Errorf("node %q is of kind %s, whose questions have no keys", id, kind)
	case !hasKey && kind != "human":
		err = fmt.Errorf("no human node %q, but one of kind %s; a program's question has a key: %s:KEY", id, kind, path)
	}
	return node, err
}

// checkLegal reports answers that a human node will not take: which ones it takes
// stands in the file. What a program asks is not known before it does.
func checkLegal(node *spec.Node, target string, given []string) error {
	if node.Kind.Value != "human" {
		return nil
	}
	q := machine.Question{Task: machine.TaskID{Node: target}}
	if choices := node.Field("choices"); choices != nil && choices.Kind != spec.List {
		return nil // an expression: known when the question is asked
	} else if choices != nil {
		q.Schema = map[string]any{"enum": choices.Data()}
	} else if schema := node.Field("schema"); schema != nil {
		q.Schema, _ = schema.Data().(map[string]any)
	}
	return answers.Check(&q, given)
}

// find finds the flow in which the last node of a path stands, and its id. Each
// part may name an element where the node has an `each`.
func (f *Flow) find(path string, elements bool) (flow *Flow, id string, err error) {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		id, index, hasIndex := strings.Cut(part, "[")
		node := f.graph.Node(id)
		if node == nil {
			return nil, "", f.noNode(id)
		}
		if hasIndex {
			digits, closed := strings.CutSuffix(index, "]")
			n, err := strconv.Atoi(digits)
			switch {
			case !elements || !node.Each.IsSet():
				return nil, "", fmt.Errorf("node %q takes no index", id)
			case !closed || err != nil || n < 0:
				return nil, "", fmt.Errorf("%q: want %s[INDEX], the first element being %s[0]", part, id, id)
			}
		}
		if i == len(parts)-1 {
			return f, id, nil
		}
		if f = f.inside(id, parts[i+1]); f == nil {
			return nil, "", fmt.Errorf("node %q runs no graph", id)
		}
	}
	return nil, "", fmt.Errorf("no node is named")
}

func (f *Flow) noNode(id string) error {
	names := make([]string, len(f.graph.Nodes))
	for i, n := range f.graph.Nodes {
		names[i] = n.ID.Value
	}
	if near := suggest.New(names).Closest(id); near != "" {
		return fmt.Errorf("no node %q in graph %q; did you mean %q?", id, f.graph.Name.Value, near)
	}
	slices.Sort(names)
	return fmt.Errorf("no node %q in graph %q (nodes: %s)", id, f.graph.Name.Value, strings.Join(names, ", "))
}

// Find returns the node at a path: its id, or outer/inner in a subgraph.
func (f *Flow) Find(path string) (*spec.Node, error) {
	flow, id, err := f.find(path, false)
	if err != nil {
		return nil, err
	}
	return flow.graph.Node(id), nil
}

// CheckAnswer reports a target that no question can have (see view.Pending.Target), and
// the first of the answers that the question there does not take.
func (f *Flow) CheckAnswer(target string, given []string) error {
	node, err := f.checkTarget(target)
	if err != nil {
		return err
	}
	return checkLegal(node, target, given)
}
