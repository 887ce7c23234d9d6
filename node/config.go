// Reading a node's configuration: plain data with templates rendered, so a
// value may have any type and is checked here again.

package node

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/runner"
)

// defaultMaxBytes bounds what a program prints and a server answers.
const defaultMaxBytes = 8 << 20

func invalidInput(format string, args ...any) *runner.Failure {
	return &runner.Failure{Kind: "invalid_input", Message: fmt.Sprintf(format, args...)}
}

// textKey reads a scalar as text; absent and null give fallback.
func textKey(config map[string]any, key, fallback string) (string, error) {
	switch v := config[key].(type) {
	case nil:
		return fallback, nil
	case []any, map[string]any:
		if eval.IsMedia(v) {
			return "", invalidInput("%q holds images, files or audio; it is a text, and these stand in \"prompt\"", key)
		}
		return "", invalidInput("%q is %s; a text is wanted", key, typeName(v))
	default:
		return eval.Text(v), nil
	}
}

// intKey reads a whole number in [least, math.MaxInt32]; absent and null give fallback.
func intKey(config map[string]any, key string, fallback, least int) (int, error) {
	v, ok := config[key]
	if !ok || v == nil {
		return fallback, nil
	}
	n, ok := wholeNumber(v)
	if !ok || n < least || n > math.MaxInt32 {
		return 0, invalidInput("%q is %s; a whole number from %d to %d is wanted", key, preview(v), least, math.MaxInt32)
	}
	return n, nil
}

func wholeNumber(v any) (int, bool) {
	switch n := v.(type) {
	case int:
		return n, true
	case int64:
		return int(n), true
	case float64:
		if n == math.Trunc(n) && math.Abs(n) <= 1<<53 {
			return int(n), true
		}
	}
	return 0, false
}

// mapKey reads a map; absent and null give none.
func mapKey(config map[string]any, key string) (map[string]any, error) {
	switch v := config[key].(type) {
	case nil:
		return nil, nil
	case map[string]any:
		return v, nil
	default:
		return nil, invalidInput("%q is %s; a map is wanted", key, typeName(v))
	}
}

// texts are the texts of one entry of headers or query: one for a scalar, any
// number for a list, none for null.
func texts(v any) []string {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		out := make([]string, len(v))
		for i := range v {
			out[i] = eval.Text(v[i])
		}
		return out
	default:
		return []string{eval.Text(v)}
	}
}

// sortedNames are the keys of a map, for everything that must not depend on
// map order.
func sortedNames(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a text"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return "a number"
}

// preview shows a value in a message: its type if it is large or no scalar.
func preview(v any) string {
	switch v := v.(type) {
	case []any, map[string]any:
		return typeName(v)
	case string:
		return fmt.Sprintf("%q", head(v, 60))
	}
	return eval.Text(v)
}
