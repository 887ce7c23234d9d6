// Finding nodes by path, and the questions of answers.

package flowtree

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// CheckTarget returns the node of an answer's target, or an error if no question can have it.
func (t *Tree) CheckTarget(target string) (*spec.Node, error) {
	path, key, hasKey := strings.Cut(target, ":")
	in, id, err := t.FindNode(path, true)
	if err != nil {
		return nil, err
	}
	node := in.Graph.Node(id)
	kind := node.Kind.Value
	switch {
	case hasKey && key == "":
		err = fmt.Errorf("the key is empty")
	case hasKey && (kind == graphKind || slices.Contains(MachineKinds(), kind)):
		err = fmt.Errorf("node %q is of kind %s, whose questions have no keys", id, kind)
	case !hasKey && kind != "human":
		err = fmt.Errorf("no human node %q, but one of kind %s; a program's question has a key: %s:KEY", id, kind, path)
	}
	return node, err
}

// CheckAnswers returns an error for the first invalid answer. It does not check computed choices.
func CheckAnswers(node *spec.Node, target string, given []string) error {
	if node.Kind.Value != "human" {
		return nil
	}
	q := machine.Question{Place: machine.Place{Node: target}}
	if choices := node.Field("choices"); choices != nil && choices.Kind != spec.List {
		return nil // an expression
	} else if choices != nil {
		q.Schema = map[string]any{"enum": choices.Data()}
	} else if schema := node.Field("schema"); schema != nil {
		q.Schema, _ = schema.Data().(map[string]any)
	}
	return CheckAnswerTexts(&q, given)
}

// FindNode returns the graph of the node at a path, and the id of the node.
func (t *Tree) FindNode(path string, elements bool) (in *Tree, id string, err error) {
	trees, id, err := t.FindAround(path, elements)
	if err != nil {
		return nil, "", err
	}
	return trees[len(trees)-1], id, nil
}

// FindAround returns the graphs around the node at a path, outermost first, and the node's id. With
// elements, the path may name elements of `each`.
func (t *Tree) FindAround(path string, elements bool) (trees []*Tree, id string, err error) {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		trees = append(trees, t)
		name, index, hasIndex := strings.Cut(part, "[")
		node := t.Graph.Node(name)
		id = name
		if node == nil {
			return nil, "", t.unknownNodeError(id)
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
			break
		}
		if t = t.innerTree(node, parts[i+1]); t == nil {
			return nil, "", fmt.Errorf("node %q runs no graph", id)
		}
	}
	return trees, id, nil
}

func (t *Tree) unknownNodeError(id string) error {
	names := make([]string, len(t.Graph.Nodes))
	for i, n := range t.Graph.Nodes {
		names[i] = n.ID.Value
	}
	if near := suggest.New(names).Closest(id); near != "" {
		return fmt.Errorf("no node %q in graph %q; did you mean %q?", id, t.Graph.Name.Value, near)
	}
	slices.Sort(names)
	return fmt.Errorf("no node %q in graph %q (nodes: %s)", id, t.Graph.Name.Value, strings.Join(names, ", "))
}

// FieldOrder returns the properties of a human node's object schema, in file order.
func (t *Tree) FieldOrder(path string) []string {
	in, id, err := t.FindNode(path, true)
	if err != nil {
		return nil
	}
	var names []string
	if properties := in.Graph.Node(id).Field("schema").Get("properties"); properties != nil {
		for i := range properties.Fields {
			names = append(names, properties.Fields[i].Key.Value)
		}
	}
	return names
}

// FindQuestion returns the index of the open question with a target, else of its first element, else
// -1.
func FindQuestion(open []machine.Question, target string) int {
	i := slices.IndexFunc(open, func(q machine.Question) bool { return q.Target() == target })
	if i < 0 {
		i = slices.IndexFunc(open, func(q machine.Question) bool { return machine.WithoutIndexes(q.Target()) == target })
	}
	return i
}

// CheckAnswerTexts returns an error for the first answer that a question does not accept.
func CheckAnswerTexts(q *machine.Question, answers []string) error {
	for _, text := range slices.Compact(slices.Clone(answers)) { // flow tests repeat an answer many times
		if _, err := q.Parse(text); err != nil {
			return err
		}
	}
	return nil
}
