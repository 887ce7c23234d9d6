// Secrets in results of tools: no model sees them (GraphSpec §9, tools).

package node

import (
	"strings"

	"github.com/graphrun/graphrun/runner"
)

// unseen masks the run's secrets in a result.
func unseen(task *runner.Task, v any) any {
	if task.Models == nil || len(task.Models.Secrets) == 0 {
		return v
	}
	return withoutTexts(v, task.Models.Secrets)
}

func withoutTexts(v any, texts []string) any {
	switch v := v.(type) {
	case string:
		for _, text := range texts { // longest first
			v = strings.ReplaceAll(v, text, "***")
		}
		return v
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = withoutTexts(v[i], texts)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = withoutTexts(value, texts)
		}
		return out
	}
	return v
}
