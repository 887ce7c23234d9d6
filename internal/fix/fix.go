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
	// Spelling says that a word of the language was misspelt, so that the file
	// was not valid.
	Spelling bool
}

// Edits returns edits that repair findings, sorted and without overlap.
func Edits(g *spec.Graph, found spec.Diagnostics) []Edit {
	if g == nil {
		return nil
	}
	var out []Edit
	for i := range found {
		if found[i].File != g.File {
			continue
		}
		var e Edit
		ok := false
		switch found[i].Rule {
		case "duplicate-edge":
			e, ok = removeRepeat(g, &found[i])
		case "invalid-value", "unknown-key":
			e, ok = correctWord(g.File.Src, &found[i])
		case "unknown-node", "unknown-state-key", "expr-unknown-name":
			e, ok = correctName(g, &found[i])
		case "unused-ignore":
			// A misspelt rule name was meant to silence something.
			if found[i].Suggestion == "" {
				e, ok = removeIgnoredRule(g.File.Src, found[i].Span)
			}
		}
		if ok {
			out = append(out, e)
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

// correctWord corrects a misspelt word of the language. It does not guess other mistakes, such as
// a number without a unit.
func correctWord(src []byte, d *spec.Diagnostic) (Edit, bool) { return correct(src, d, letters()) }

// correct replaces a word by the suggestion if that is near and both match a pattern.
func correct(src []byte, d *spec.Diagnostic, pattern *regexp.Regexp) (Edit, bool) {
	word := string(src[d.Span.From:d.Span.To])
	ok := pattern.MatchString(word) && pattern.MatchString(d.Suggestion) && suggest.Closest(word, []string{d.Suggestion}) != ""
	return Edit{Span: d.Span, Text: d.Suggestion, Spelling: true}, ok
}

// correctName corrects the name of a node or state key if exactly one name is near and the word is
// not too short.
func correctName(g *spec.Graph, d *spec.Diagnostic) (Edit, bool) {
	const least, far = 4, 100
	e, ok := correct(g.File.Src, d, name())
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
	return e, ok && len(word) >= least && slices.Contains(names, d.Suggestion) && !slices.ContainsFunc(names, isNearer)
}

// removeRepeat removes the later of two equal declarations.
func removeRepeat(g *spec.Graph, d *spec.Diagnostic) (Edit, bool) {
	later := edgeAt(g, d.Span)
	if later == nil || !isAlone(g, later) {
		return Edit{}, false
	}
	if target := g.Node(later.To.Value); target != nil && target.Join != nil {
		return Edit{}, false // a join may count arrivals
	}
	src := g.File.Src
	for _, e := range g.Edges[:later.Index] {
		if e.From.Value == later.From.Value && e.To.Value == later.To.Value && isAlone(g, e) &&
			bytes.Equal(src[e.Span.From:e.Span.To], src[later.Span.From:later.Span.To]) {
			return deleteEntry(src, later.Span)
		}
	}
	return Edit{}, false
}

// edgeAt returns the edge whose target is at a span.
func edgeAt(g *spec.Graph, s spec.Span) *spec.Edge {
	for _, e := range g.Edges {
		if e.To.Span == s {
			return e
		}
	}
	return nil
}

// isAlone reports whether a declaration gives only this edge.
func isAlone(g *spec.Graph, e *spec.Edge) bool {
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

// deleteEntry removes an entry of a list in block or flow style. A comment behind it moves to a
// line of its own.
func deleteEntry(src []byte, s spec.Span) (Edit, bool) {
	if bytes.ContainsRune(src[s.From:s.To], '#') {
		return Edit{}, false // the entry may contain a comment
	}
	start := bytes.LastIndexByte(src[:s.From], '\n') + 1
	indent := src[start:s.From]
	dash := bytes.TrimLeft(indent, " ")
	if len(bytes.TrimSpace(dash)) != 1 || dash[0] != '-' {
		return deleteFlowEntry(src, s)
	}
	end := s.To
	if n := bytes.IndexByte(src[end:], '\n'); n >= 0 {
		end += n + 1
	} else {
		end = len(src)
	}
	rest := bytes.TrimSpace(src[s.To:end])
	switch {
	case len(rest) == 0:
		return Edit{Span: spec.Span{From: start, To: end}}, true
	case rest[0] == '#':
		lead := string(indent[:len(indent)-len(dash)])
		return Edit{Span: spec.Span{From: start, To: end}, Text: lead + string(rest) + "\n"}, true
	}
	return Edit{}, false
}

// deleteFlowEntry removes an entry and the comma before it from [a, b].
func deleteFlowEntry(src []byte, s spec.Span) (Edit, bool) {
	before := bytes.TrimRight(src[:s.From], " \t\r\n")
	if len(before) == 0 || before[len(before)-1] != ',' {
		return Edit{}, false
	}
	return Edit{Span: spec.Span{From: len(before) - 1, To: s.To}}, true
}

// ignored matches a line up to a rule in a comment that silences it: the content before the
// comment, and the rules before this one.
var ignored = lazyregexp.New(`^(.*?)[ \t]*#[^#]*graphrun: ignore(?:-file)? (.*)$`)

// removeIgnoredRule removes a rule's name from a comment that silences it, or the whole comment if
// it names no other rule.
func removeIgnoredRule(src []byte, s spec.Span) (Edit, bool) {
	start := bytes.LastIndexByte(src[:s.From], '\n') + 1
	line, _, _ := bytes.Cut(src[start:], []byte("\n"))
	end := start + len(line)
	m := ignored().FindSubmatchIndex(src[start:s.From])
	if m == nil {
		return Edit{}, false
	}
	content, before := line[m[2]:m[3]], bytes.TrimSpace(line[m[4]:m[5]])
	after := bytes.TrimLeft(src[s.To:end], " ")
	switch {
	case bytes.HasPrefix(after, []byte(",")):
		rest := bytes.TrimLeft(after[1:], " ")
		return Edit{Span: spec.Span{From: s.From, To: end - len(rest)}}, true
	case bytes.HasSuffix(before, []byte(",")) && len(bytes.TrimSpace(after)) == 0:
		comma := bytes.LastIndexByte(src[start:s.From], ',')
		return Edit{Span: spec.Span{From: start + comma, To: end}}, true
	case len(before) > 0:
		return Edit{}, false // the following words may be about another rule
	case len(content) == 0:
		return Edit{Span: spec.Span{From: start, To: min(end+1, len(src))}}, true
	}
	return Edit{Span: spec.Span{From: start + len(content), To: end}}, true
}

// Repair repairs a text until nothing is left to repair, and counts its edits. check parses a
// text and returns its findings.
func Repair(src []byte, check func(src []byte) (*spec.Graph, spec.Diagnostics)) (after []byte, made int) {
	before := src
	const rounds = 200 // each round repairs at least one finding
	for range rounds {
		g, found := check(src)
		next, n := applyRound(src, found, Edits(g, found), check)
		if n == 0 {
			break
		}
		src, made = next, made+n
	}
	if bytes.Equal(src, before) {
		return before, 0
	}
	return src, made
}

// applyRound applies all safe edits, or else one edit of a word. It omits edits that cause new
// findings.
func applyRound(src []byte, before spec.Diagnostics, edits []Edit, check func([]byte) (*spec.Graph, spec.Diagnostics)) (next []byte, made int) {
	plain := slices.DeleteFunc(slices.Clone(edits), func(e Edit) bool { return e.Spelling })
	if len(plain) > 0 {
		next := Apply(src, plain)
		if _, found := check(next); len(found) <= len(before)-len(plain) {
			return next, len(plain)
		}
	}
	for _, e := range edits {
		if !e.Spelling {
			continue
		}
		// A corrected word may reveal findings that the error had hidden elsewhere.
		next := Apply(src, []Edit{e})
		line := bytes.Count(src[:e.Span.From], []byte("\n")) + 1
		if _, found := check(next); errorsOn(line, found) < errorsOn(line, before) {
			return next, 1
		}
	}
	return src, 0
}

func errorsOn(line int, found spec.Diagnostics) int {
	n := 0
	for _, d := range found {
		if d.Severity == spec.Error && d.File.Position(d.Span.From).Line == line {
			n++
		}
	}
	return n
}
