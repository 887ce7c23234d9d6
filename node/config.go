// Reading the evaluated configuration of nodes.

package node

import (
	"fmt"

	"github.com/graphrun/graphrun/internal/keys"
	"github.com/graphrun/graphrun/runner"
)

func invalidInput(format string, args ...any) *runner.Failure {
	return &runner.Failure{Kind: "invalid_input", Message: fmt.Sprintf(format, args...)}
}

// decode sets the fields of a struct from evaluated keys, as keys.Decode does.
func decode(config map[string]any, into any) error {
	if err := keys.Decode(config, into); err != nil {
		return invalidInput("%v", err)
	}
	return nil
}
