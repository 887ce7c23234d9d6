// Package examples holds flows that show what graphs can do, each in a folder
// with what it needs. Those about models, which run offline by answers from a
// file, are templates of graphrun init as well.
package examples

import "embed"

//go:embed negotiation/*.yaml support-triage/*.yaml writer-critic/*.yaml
//go:embed plan-code-test/*.yaml plan-code-test/tools
//go:embed tool-agent/*.yaml tool-agent/tools tool-loop/*.yaml tool-loop/tools
var models embed.FS

// Models are the folders of the examples about models, without what their
// tests expect.
func Models() embed.FS { return models }
