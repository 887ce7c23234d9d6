// Variables of a shell where no shell reads them.

package lint

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/graphrun/graphrun/internal/analysis/shell"
	"github.com/graphrun/graphrun/internal/analysis/taint"
	"github.com/graphrun/graphrun/spec"
)

// unexpanded reports arguments of a command that are written as a shell or another
// tool would: nobody expands $text, and ${{ text }} leaves its $ there.
func (f *facts) unexpanded() {
	variable := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})$`) })
	dollar := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\$(\{\{.*\}\})$`) })
	for v, n := range f.graph.Nodes {
		command := n.Field("command")
		if n.Kind.Value != "exec" || command == nil || len(shell.Code(command)) > 0 || hasItem(command, "--arg", "--argjson") {
			continue
		}
		for i := range command.Items {
			item := &command.Items[i]
			if item.Kind != spec.String || i == 0 || !strings.HasPrefix(item.Text.Value, "$") {
				continue
			}
			if m := variable().FindStringSubmatch(item.Text.Value); m != nil {
				f.passedOn(v, item.Text, m[1]+m[2])
			} else if m := dollar().FindStringSubmatch(item.Text.Value); m != nil && !f.isNumber(v, item.Text) {
				f.report(item.Text.Span, "%q puts a $ before the value; a template is written %s", item.Text.Value, m[1]).Suggestion = `"` + m[1] + `"`
			}
		}
	}
}

// passedOn reports $name where it stands for a key of the state or of env.
func (f *facts) passedOn(v int, text spec.Text, name string) {
	if _, known := f.keyOf[name]; known {
		write := "{{ " + name + " }}"
		f.report(text.Span, "%q is passed on as it is: no shell reads the command; write %s", text.Value, write).Suggestion = `"` + write + `"`
		return
	}
	if f.graph.Nodes[v].Field("env").Get(name) != nil {
		f.report(text.Span, "%q is passed on as it is: no shell reads the command; write script: instead, or put the value of %s there", text.Value, name)
	}
}

// isNumber reports whether the parts of a template are numbers, before which a $
// is a currency.
func (f *facts) isNumber(v int, text spec.Text) bool {
	uses := f.uses().OfNode(v)
	for i := range uses {
		if uses[i].Text.Span == text.Span && !taint.Harmless(uses[i].Program.Type()) {
			return false
		}
	}
	return true
}

func hasItem(list *spec.Value, words ...string) bool {
	return slices.ContainsFunc(list.Items, func(item spec.Value) bool { return slices.Contains(words, item.Text.Value) })
}
