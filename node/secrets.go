// Masking of secrets in results of tools (GraphSpec §9, tools).

package node

import (
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/runner"
)

// maskSecrets masks the run's secrets in a result.
func maskSecrets(task *runner.Task, v any) any {
	if task.Models == nil || len(task.Models.Secrets) == 0 {
		return v
	}
	return eval.MapTexts(v, func(text string) string {
		for _, secret := range task.Models.Secrets { // longest first
			text = strings.ReplaceAll(text, secret, "***")
		}
		return text
	})
}
