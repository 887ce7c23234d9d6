// Reducers: how an update changes a state key (GraphSpec §3).

package machine

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/graphrun/graphrun/eval"
)

// reducer says how a key combines its value with updates. The zero value is unset.
type reducer int

const (
	reduceReplace reducer = iota + 1
	reduceAppend
	reducePrepend
	reduceMerge
	reduceSum
	reduceMin
	reduceMax
	reduceUnion
	reduceMessages
	reduceExpr
)

// reducerNames are the reducers by their names.
var reducerNames = map[string]reducer{
	"": reduceReplace, "replace": reduceReplace, "append": reduceAppend, "prepend": reducePrepend, "merge": reduceMerge,
	"sum": reduceSum, "min": reduceMin, "max": reduceMax, "union": reduceUnion, "messages": reduceMessages,
}

// parseReducer returns the reducer with a name. Any other text is an expression.
func parseReducer(name string) reducer {
	if known, ok := reducerNames[name]; ok {
		return known
	}
	return reduceExpr
}

// reduceUpdate returns a key's new value, checked against its schema. It modifies no argument.
func (v *View) reduceUpdate(i int, update any) (any, *Failure) {
	k, current := &v.scope.plan.keys[i], v.value(i)
	if k.reducer == reduceAppend {
		return v.appendItems(i, current, toList(update))
	}
	value, err := v.scope.combineValues(k, current, update)
	if err != nil {
		return nil, &Failure{Kind: "invalid_output", Message: "state key " + strconv.Quote(k.name) +
			": reducer " + k.decl.Reducer.Value + ": " + err.Error()}
	}
	if value, err = k.schema.Accept(value); err != nil {
		return nil, writeFailure(k, err)
	}
	return value, nil
}

func (sc *Scope) combineValues(k *key, current, update any) (any, error) {
	switch k.reducer {
	case reducePrepend:
		list, _ := current.([]any)
		return append(append([]any{}, toList(update)...), list...), nil
	case reduceMerge:
		return mergeObjects(current, update)
	case reduceSum, reduceMin, reduceMax:
		return combineNumbers(k.reducer, current, update)
	case reduceUnion:
		return unionLists(current, update), nil
	case reduceMessages:
		return combineMessages(current, update)
	case reduceExpr:
		return sc.state.vm.Eval(k.expr, map[string]any{"current": current, "update": update})
	}
	return update, nil
}

// appendItems appends to a list in amortised constant time. Only lists in v.lists have spare
// capacity: appending to the value of a key copies it.
func (v *View) appendItems(i int, current any, items []any) (any, *Failure) {
	k := &v.scope.plan.keys[i]
	list, _ := current.([]any)
	own := v.lists[i]
	if len(own) != len(list) || len(list) > 0 && &own[0] != &list[0] {
		own = slices.Clone(list)
	}
	if own == nil {
		own = []any{} // a key without additions is a list, too
	}
	own = append(own, items...)
	if err := k.schema.CheckAppended(own, len(list)); err != nil {
		return nil, writeFailure(k, err)
	}
	return own, nil
}

// toList returns a list unchanged, and any other value as a list of one item.
func toList(update any) []any {
	if list, ok := update.([]any); ok {
		return list
	}
	return []any{update}
}

func mergeObjects(current, update any) (any, error) {
	fields, ok := update.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("update %s is not an object", previewValue(update, 60))
	}
	base, _ := current.(map[string]any)
	out := make(map[string]any, len(base)+len(fields))
	maps.Copy(out, base)
	maps.Copy(out, fields)
	return out, nil
}

func combineNumbers(how reducer, current, update any) (any, error) {
	if _, ok := eval.Number(update); !ok {
		return nil, fmt.Errorf("update %s is not a number", previewValue(update, 60))
	}
	if current == nil {
		return update, nil
	}
	a, okA := current.(int)
	b, okB := update.(int)
	if okA && okB && how == reduceSum {
		return a + b, nil // both are at most 2^61
	}
	x, ok := eval.Number(current)
	if !ok {
		return nil, fmt.Errorf("current value %s is not a number", previewValue(current, 60))
	}
	y, _ := eval.Number(update)
	order := cmp.Compare(x, y)
	if okA && okB {
		order = cmp.Compare(a, b) // exact also beyond 2^53
	}
	switch {
	case how == reduceSum:
		return x + y, nil
	case (how == reduceMin) == (order <= 0):
		return current, nil
	}
	return update, nil
}

// unionLists appends the values that the list does not contain yet.
func unionLists(current, update any) any {
	list, _ := current.([]any)
	out := append([]any{}, list...)
	seen := map[any]bool{} // the comparable values
	isKnown := func(v any) bool {
		switch v.(type) {
		case []any, map[string]any:
			return slices.ContainsFunc(out, func(other any) bool { return reflect.DeepEqual(v, other) })
		}
		known := seen[v]
		seen[v] = true
		return known
	}
	for _, v := range list {
		if reflect.TypeOf(v) == nil || reflect.TypeOf(v).Comparable() {
			seen[v] = true
		}
	}
	for _, v := range toList(update) {
		if !isKnown(v) {
			out = append(out, v)
		}
	}
	return out
}

// combineMessages appends messages and applies ops. A message with a known id replaces the old one.
func combineMessages(current, update any) (any, error) {
	list, _ := current.([]any)
	out := append([]any{}, list...)
	for _, item := range toList(update) {
		message, ok := item.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("update %s is not a message object", previewValue(item, 60))
		}
		at := findMessage(out, message["id"])
		switch op := message["op"]; {
		case op == nil && at >= 0:
			out[at] = message
		case op == nil:
			out = append(out, message)
		case op == "remove" && at >= 0:
			out = slices.Delete(out, at, at+1)
		case op == "remove":
		case op == "remove_all":
			out = []any{}
		case op == "replace_last_user":
			out = replaceLastUser(out, message["content"])
		default:
			return nil, fmt.Errorf("op %s is unknown; allowed: remove, remove_all, replace_last_user", previewValue(op, 40))
		}
	}
	return out, nil
}

// replaceLastUser changes the content of the last message of a user, or appends one.
func replaceLastUser(list []any, content any) []any {
	for i, item := range slices.Backward(list) {
		if old, _ := item.(map[string]any); old["role"] == "user" {
			changed := maps.Clone(old)
			changed["content"] = content
			list[i] = changed
			return list
		}
	}
	return append(list, map[string]any{"role": "user", "content": content})
}

// findMessage returns the index of the message with an id, or -1.
func findMessage(list []any, id any) int {
	if id == nil {
		return -1
	}
	return slices.IndexFunc(list, func(item any) bool {
		message, ok := item.(map[string]any)
		return ok && reflect.DeepEqual(message["id"], id)
	})
}
