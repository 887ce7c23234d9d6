// url-injection: text from outside that may change which address is asked.

package lint

import (
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/taint"
	"github.com/graphrun/graphrun/spec"
)

func urlInjection() Rule {
	return Rule{
		Name: "url-injection", Group: "security", Severity: spec.Warning, needs: needNode,
		Summary: "text from outside stands in a URL without urlencode",
		Doc: "A value with a /, a ? or an & in it changes the path or the parameters of a request, one with an @ or a # its host. " +
			"Write {{ urlencode(value) }}, which escapes them, or put parameters into query, which does so too. A URL that begins with {{ }} is an address from outside as a whole; it is reported when a model or a server wrote it. " +
			"Numbers, booleans, secrets and values of an enum or of a pattern for the whole text (^…$) that admits only plain characters are no danger.",
		Bad: `graphrun: v1
name: weather
start: ask
output: output.body
state:
  city: {type: string, required: true}
nodes:
  ask: {kind: http, url: "https://example.org/weather/{{ city }}", timeout: 10s}
edges:
  - {from: ask, to: END}
`,
		change: []string{"{{ city }}", "{{ urlencode(city) }}"},
		check:  checkURLInjection,
	}
}

func checkURLInjection(f *facts) {
	for v, n := range f.graph.Nodes {
		if n.Kind.Value != "http" {
			continue
		}
		uses := f.uses().OfNode(v)
		for i := range uses {
			if u := &uses[i]; u.Field == "url" && u.InText && !f.taints().Fixed(u) && !escaped(u.Program.Tree()) {
				f.urlPart(u)
			}
		}
	}
}

// urlPart judges a part of a URL that isn't escaped by where it stands.
func (f *facts) urlPart(u *dataflow.Use) {
	from, source := f.taints().Of(u), u.Program.Source()
	before := withoutParts(u.Text.Value[:u.From])
	switch {
	case before == "" && from < taint.FromWorld, from == taint.FromFlow:
	case before == "":
		f.report(u.Span(), "%q chooses the host of the request, and comes from %s", source, from)
	default:
		place := "path"
		if _, rest, _ := strings.Cut(before, "://"); !strings.ContainsAny(rest, "/?#") && strings.Contains(before, "://") {
			place = "host"
		} else if strings.Contains(before, "?") {
			place = "query"
		}
		call := "urlencode(" + source + ")"
		if u.Optional {
			call = "urlencode(" + source + " ?? '')"
		}
		d := f.report(u.Span(), "%q comes from %s and stands in the %s of a URL as it is; write %s", source, from, place, call)
		if !u.Optional {
			d.Suggestion = call
		}
	}
}

// escaped reports whether all that an expression puts into a text is what
// urlencode has made, or constant.
func escaped(t *eval.Tree) bool {
	switch t.Op {
	case eval.TreeConst:
		return true
	case eval.TreeCall:
		return t.Name == "urlencode"
	case eval.TreeBinary:
		return (t.Name == "+" || t.Name == "??") && escaped(t.Args[0]) && escaped(t.Args[1])
	case eval.TreeChoice:
		return escaped(t.Args[1]) && escaped(t.Args[2])
	}
	return false
}

// withoutParts is a template's text before a part, which ends inside the braces
// of the part, without the parts before.
func withoutParts(prefix string) string {
	var literal strings.Builder
	for {
		text, rest, more := strings.Cut(prefix, "{{")
		literal.WriteString(text)
		if !more {
			return literal.String()
		}
		_, prefix, _ = strings.Cut(rest, "}}")
	}
}
