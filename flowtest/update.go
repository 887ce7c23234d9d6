// Writing actual results into test files.

package flowtest

import (
	"bytes"
	"os"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/spec"
)

// edit replaces some bytes of a file.
type edit struct {
	at   spec.Span
	text string
}

// Update writes the actual path and state into cases that expect update, and the actual
// path into cases that expect another exact path. Everything else is kept, comments too. It
// returns how many cases changed.
func Update(f *File, report *Report) (changed int, err error) {
	var edits []edit
	for i := range report.Results {
		r := &report.Results[i]
		if r.c == nil || r.c.expect.file != f || r.got == nil || hasFatal(r.Failures) {
			continue
		}
		own, done := f.listEdits(r)
		if !done {
			continue
		}
		changed++
		for _, e := range own {
			if !slices.ContainsFunc(edits, func(other edit) bool { return other.at == e.at }) { // rows share the expectation of their case
				edits = append(edits, e)
			}
		}
	}
	if changed == 0 {
		return 0, nil
	}
	slices.SortFunc(edits, func(a, b edit) int { return b.at.From - a.at.From })
	src := slices.Clone(f.src.Src)
	for _, e := range edits {
		src = slices.Concat(src[:e.at.From], []byte(e.text), src[e.at.To:])
	}
	return changed, os.WriteFile(f.Name, src, 0o644)
}

// hasFatal reports whether a case has a failure that no update fixes.
func hasFatal(failures []Failure) bool {
	return slices.ContainsFunc(failures, func(f Failure) bool { return f.What == "stub" || f.What == "run" })
}

// listEdits returns the edits of a case.
func (f *File) listEdits(r *Result) (edits []edit, changed bool) {
	x := r.c.expect
	path, state := yamlFlow(r.got.Path), r.got.State
	if x.update {
		return []edit{f.formatExpectation(x.value.Span, path, state)}, true
	}
	missed := func(match func(Failure) bool) bool { return slices.ContainsFunc(r.Failures, match) }
	list := x.value.Get("path")
	if list != nil && list.Kind == spec.Map {
		list = list.Get("exactly")
	}
	if list == nil || !missed(func(f Failure) bool { return f.What == "path" }) {
		return nil, false
	}
	edits = append(edits, edit{list.Span, path})
	if want := x.value.Get("state"); want != nil && missed(func(f Failure) bool { return strings.HasPrefix(f.What, "state.") }) {
		edits = append(edits, edit{want.Span, yamlFlow(state)})
	}
	return edits, true
}

// formatExpectation returns the edit that replaces the word update. The expectation gets lines of
// its own, unless it stands in a one-line map.
func (f *File) formatExpectation(at spec.Span, path string, state map[string]any) edit {
	src := f.src.Src
	start := bytes.LastIndexByte(src[:at.From], '\n') + 1
	line := string(src[start:at.From])
	parts := []string{"path: " + path}
	if len(state) > 0 {
		parts = append(parts, "state: "+yamlFlow(state))
	}
	key := strings.TrimLeft(strings.TrimLeft(line, " -"), " ")
	if !strings.HasPrefix(key, "expect:") {
		return edit{at, "{" + strings.Join(parts, ", ") + "}"}
	}
	end := at.To
	for end < len(src) && src[end] != '\n' {
		end++
	}
	rest := strings.TrimRight(string(src[at.To:end]), " \r") // keep a comment
	for at.From > start && src[at.From-1] == ' ' {
		at.From--
	}
	indent := strings.Repeat(" ", len(line)-len(key)+2)
	return edit{spec.Span{From: at.From, To: end}, strings.Join(append([]string{rest}, parts...), "\n"+indent)}
}
