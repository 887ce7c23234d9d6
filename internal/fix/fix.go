// Package fix repairs findings if that can't change what a graph does: repeated edges, comments
// that silence nothing, and misspelt words and names that can only mean one thing. It leaves the
// rest of the file as it is.
package fix

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/internal/lazyregexp"
	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/spec"
)

// Edit replaces the bytes of a span.
type Edit struct {
	Span spec.Span
	Text string
	// Spelling says that the edit corrects a word of the language, so the file was not valid.
	Spelling bool
}

// FindEdits returns edits that repair findings, sorted and without overlap.
func FindEdits(g *spec.Graph, found spec.Diagnostics) []Edit {
	if g == nil {
		return nil
	}
	var out []Edit
	for i := range found {
		if d := &found[i]; d.File == g.File {
			if e := findEdit(g, d); e != nil {
				out = append(out, *e)
			}
		}
	}
	slices.SortFunc(out, func(a, b Edit) int { return cmp.Compare(a.Span.From, b.Span.From) })
	end := -1
	return slices.DeleteFunc(out, func(e Edit) bool {
		if e.Span.From < end {
			return true
		}
		end = e.Span.To
		return false
	})
}

func findEdit(g *spec.Graph, d *spec.Diagnostic) *Edit {
	switch d.Rule {
	case "duplicate-edge":
		return removeDuplicate(g, d)
	case "invalid-value", "unknown-key": // letters only: not, for example, a number without a unit
		return correctWord(g.File.Src, d, letters.Get())
	case "unknown-node", "unknown-state-key", "expr-unknown-name":
		return correctName(g, d)
	case "unused-ignore":
		if d.Suggestion == "" { // a misspelt rule name was meant to silence something
			return removeIgnoredRule(g.File.Src, d.Span)
		}
	}
	return nil
}

// Apply returns the text with the edits applied.
func Apply(src []byte, edits []Edit) []byte {
	var out bytes.Buffer
	at := 0
	for _, e := range edits {
		out.Write(src[at:e.Span.From])
		out.WriteString(e.Text)
		at = e.Span.To
	}
	out.Write(src[at:])
	return out.Bytes()
}

var (
	letters = lazyregexp.New(`^[A-Za-z_-]+$`)
	name    = lazyregexp.New(`^[A-Za-z0-9_-]*[A-Za-z_-][A-Za-z0-9_-]*$`)
)

// correctWord replaces a word with the suggestion if that is near and both match a pattern.
func correctWord(src []byte, d *spec.Diagnostic, pattern *regexp.Regexp) *Edit {
	word := string(src[d.Span.From:d.Span.To])
	if !pattern.MatchString(word) || !pattern.MatchString(d.Suggestion) || suggest.Closest(word, []string{d.Suggestion}) == "" {
		return nil
	}
	return &Edit{Span: d.Span, Text: d.Suggestion, Spelling: true}
}

// correctName corrects a name if exactly one declared name is near and the word is long enough.
func correctName(g *spec.Graph, d *spec.Diagnostic) *Edit {
	const least, far = 4, 100
	word := string(g.File.Src[d.Span.From:d.Span.To])
	names := []string{spec.END}
	for _, n := range g.Nodes {
		names = append(names, n.ID.Value)
	}
	for _, key := range g.State {
		names = append(names, key.Name.Value)
	}
	distance := func(name string) int { return suggest.Distance(strings.ToLower(word), strings.ToLower(name), far) }
	isNearer := func(name string) bool { return name != d.Suggestion && distance(name) <= distance(d.Suggestion) }
	if len(word) < least || !slices.Contains(names, d.Suggestion) || slices.ContainsFunc(names, isNearer) {
		return nil
	}
	return correctWord(g.File.Src, d, name.Get())
}

// removeDuplicate removes the later of two equal declarations.
func removeDuplicate(g *spec.Graph, d *spec.Diagnostic) *Edit {
	at := slices.IndexFunc(g.Edges, func(e *spec.Edge) bool { return e.To.Span == d.Span })
	if at < 0 || !isOnlyEdge(g, g.Edges[at]) {
		return nil
	}
	later := g.Edges[at]
	if target := g.Node(later.To.Value); target != nil && target.Join != nil {
		return nil // a join may count arrivals
	}
	src := g.File.Src
	for _, e := range g.Edges[:at] {
		if e.From.Value == later.From.Value && e.To.Value == later.To.Value && isOnlyEdge(g, e) &&
			bytes.Equal(src[e.Span.From:e.Span.To], src[later.Span.From:later.Span.To]) {
			return deleteEntry(src, later.Span)
		}
	}
	return nil
}

// isOnlyEdge reports whether the declaration of an edge declares no other edge.
func isOnlyEdge(g *spec.Graph, e *spec.Edge) bool {
	if e.Decl < 0 {
		return false
	}
	for _, i := range []int{e.Index - 1, e.Index + 1} {
		if i >= 0 && i < len(g.Edges) && g.Edges[i].Decl == e.Decl {
			return false
		}
	}
	return true
}

var (
	dash    = lazyregexp.New(`(?:^|\n)( *)- *$`)
	restOf  = lazyregexp.New(`^[ \t]*(#.*)?(?:\r?\n|$)`)
	comma   = lazyregexp.New(`,\s*$`)
	ignored = lazyregexp.New(`^(.*?)[ \t]*#[^#]*graphrun: ignore(?:-file)? (.*)$`)
)

// deleteEntry removes an entry of a list. A comment after it moves to its own line.
func deleteEntry(src []byte, s spec.Span) *Edit {
	if bytes.ContainsRune(src[s.From:s.To], '#') {
		return nil // the entry may contain a comment
	}
	if before := dash.Get().FindSubmatchIndex(src[:s.From]); before != nil {
		rest := restOf.Get().FindSubmatch(src[s.To:])
		if rest == nil {
			return nil
		}
		text := ""
		if rest[1] != nil {
			text = string(src[before[2]:before[3]]) + string(bytes.TrimSpace(rest[1])) + "\n"
		}
		return &Edit{Span: spec.Span{From: before[2], To: s.To + len(rest[0])}, Text: text}
	}
	if before := comma.Get().FindIndex(src[:s.From]); before != nil {
		return &Edit{Span: spec.Span{From: before[0], To: s.To}}
	}
	return nil
}

// removeIgnoredRule removes a rule's name from a comment that silences it, or the whole comment if
// it names no other rule.
func removeIgnoredRule(src []byte, s spec.Span) *Edit {
	start := bytes.LastIndexByte(src[:s.From], '\n') + 1
	line, _, _ := bytes.Cut(src[start:], []byte("\n"))
	end := start + len(line)
	m := ignored.Get().FindSubmatch(src[start:s.From])
	if m == nil {
		return nil
	}
	content, before, after := m[1], bytes.TrimRight(m[2], ", "), src[s.To:end]
	next := bytes.TrimLeft(after, ", ")
	switch {
	case bytes.HasPrefix(after, []byte(",")):
		return &Edit{Span: spec.Span{From: s.From, To: end - len(next)}}
	case len(before) > 0 && len(bytes.TrimSpace(after)) > 0:
		return nil // the following words may be about another rule
	case len(before) > 0:
		return &Edit{Span: spec.Span{From: s.From - len(m[2]) + len(before), To: end}}
	case len(content) == 0:
		return &Edit{Span: spec.Span{From: start, To: min(end+1, len(src))}}
	}
	return &Edit{Span: spec.Span{From: start + len(content), To: end}}
}

// Repair applies edits to a text until none improves it, and counts them. check finds the findings.
func Repair(src []byte, check func(src []byte) (*spec.Graph, spec.Diagnostics)) (after []byte, made int) {
	const most = 1000
	for made < most {
		g, before := check(src)
		improves := func(e Edit) bool {
			_, after := check(Apply(src, []Edit{e}))
			if !e.Spelling {
				return len(after) < len(before)
			}
			// A corrected word may reveal findings that the error had hidden elsewhere.
			line := bytes.Count(src[:e.Span.From], []byte("\n")) + 1
			return countErrors(after, line) < countErrors(before, line)
		}
		edits := FindEdits(g, before)
		i := slices.IndexFunc(edits, improves)
		if i < 0 {
			break
		}
		src, made = Apply(src, edits[i:i+1]), made+1
	}
	return src, made
}

func countErrors(found spec.Diagnostics, line int) int {
	n := 0
	for _, d := range found {
		if d.Severity == spec.Error && d.File.Position(d.Span.From).Line == line {
			n++
		}
	}
	return n
}
