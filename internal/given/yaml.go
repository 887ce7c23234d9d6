// Parsing YAML as plain data.

package given

import (
	"bytes"
	"fmt"

	"github.com/graphrun/graphrun/spec"
)

// YAML parses one YAML document into plain data. An empty document is null, dates stay text.
// The error completes a sentence: "is not YAML …".
func YAML(src []byte) (any, error) {
	if len(bytes.TrimSpace(src)) == 0 {
		return nil, nil
	}
	value, found := spec.ReadValue("", src, "expected a value")
	if len(found) > 0 {
		d := &found[0]
		at := d.File.Position(d.Span.From)
		return nil, fmt.Errorf("is not YAML: line %d, column %d: %s", at.Line, at.Column, d.Message)
	}
	return value.Data(), nil
}
