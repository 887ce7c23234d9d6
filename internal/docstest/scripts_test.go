// The scripts of models on the pages.

package docstest

import (
	"strings"
	"testing"

	"github.com/graphrun/graphrun/model/scripted"
)

// Every script on a page can be read.
func TestScripts(t *testing.T) {
	n := 0
	for _, p := range pages(t) {
		for _, b := range p.blocks() {
			if !strings.HasPrefix(b.info, "yaml") || !strings.HasPrefix(b.text, "responses:") {
				continue
			}
			n++
			if _, err := scripted.Parse(p.name, []byte(b.text)); err != nil {
				t.Errorf("%s:%d: %v", p.name, b.line, err)
			}
		}
	}
	if n == 0 {
		t.Error("no scripts on any page")
	}
}
