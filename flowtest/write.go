// Writing test files: generated cases, and actual results in existing ones.

package flowtest

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/lazyregexp"
	"github.com/graphrun/graphrun/spec"
)

// formatTestFile returns a test file with a case for each run.
func formatTestFile(runs []*triedCase, flow string, missing []string) string {
	var b strings.Builder
	b.WriteString("graphrun-test: v1\n")
	if flow != "" {
		b.WriteString("flow: " + yamlText(flow) + "\n")
	}
	for _, line := range missing {
		b.WriteString("# no case covers " + line + "\n")
	}
	if len(runs) == 0 {
		b.WriteString("\ncases: []\n")
	} else {
		b.WriteString("\ncases:\n")
	}
	names := map[string]int{}
	for _, t := range runs {
		name := t.describe()
		if names[name]++; names[name] > 1 {
			name += fmt.Sprintf(" (%d)", names[name])
		}
		fmt.Fprintf(&b, "  - name: %s\n", yamlText(name))
		t.writeCase(&b, "    ")
		b.WriteString("    expect:\n")
		fmt.Fprintf(&b, "      status: %s\n", t.result.Status)
		if failure := t.result.Error; failure != nil && failure.Node != "" {
			fmt.Fprintf(&b, "      error: {kind: %s, node: %s}\n", failure.Kind, yamlText(failure.Node))
		}
		fmt.Fprintf(&b, "      path: %s\n", yamlFlow(t.result.Path))
	}
	return b.String()
}

// describe returns a name for a case: the nodes on its path, and which of them failed.
func (t *triedCase) describe() string {
	var parts []string
	visits := map[string]int{}
	for _, node := range t.result.Path {
		visits[node]++
		isHuman := func(c choice) bool { return c.node == node && c.key == "answers" }
		if failed := t.failed[execution{node, visits[node]}]; failed && slices.ContainsFunc(t.choices, isHuman) {
			node += " unanswered"
		} else if failed {
			node += " fails"
		}
		if !slices.Contains(parts, node) {
			parts = append(parts, node)
		}
	}
	const most = 7
	if n := len(parts); n > most {
		parts = slices.Concat(parts[:3], []string{fmt.Sprintf("%d more", n-most+1)}, parts[n-most+4:])
	}
	if len(parts) == 0 {
		return string(t.result.Status)
	}
	return strings.Join(parts, ", ")
}

// writeCase writes input, stubs, answers and decisions of a case.
func (t *triedCase) writeCase(b *strings.Builder, indent string) {
	stubs, decide, order := map[string][]any{}, map[string][]any{}, []string{}
	for _, c := range t.choices {
		switch c.key {
		case "decide":
			decide[c.node] = append(decide[c.node], c.value)
		case "stubs":
			if stubs[c.node] == nil {
				order = append(order, c.node)
			}
			stubs[c.node] = append(stubs[c.node], c.value)
		}
	}
	line := func(key, text string) {
		if len(text) > len("{}") {
			b.WriteString(indent + key + ": " + text + "\n")
		}
	}
	line("input", yamlFlow(t.input))
	if len(order) > 0 {
		b.WriteString(indent + "stubs:\n")
	}
	for _, node := range order {
		if entry, isOne := t.mergeVisits(stubs[node]).(map[string]any); isOne {
			fmt.Fprintf(b, "%s  %s: %s\n", indent, yamlText(node), yamlFlow(entry))
			continue
		}
		fmt.Fprintf(b, "%s  %s:\n", indent, yamlText(node))
		for _, entry := range stubs[node] {
			text := yamlFlow(entry)
			fmt.Fprintf(b, "%s    - %s\n", indent, text[1:len(text)-1])
		}
	}
	answers, resumes := t.splitAnswers()
	line("answers", yamlFlow(answers))
	line("decide", yamlFlow(t.mergeByNode(decide)))
	line("resume", yamlFlow(resumes))
}

// mergeVisits returns one value for all visits if they are equal and the case has run, or the list.
func (t *triedCase) mergeVisits(list []any) any {
	_, isList := list[0].([]any)
	if t.resumed < 0 || isList || slices.ContainsFunc(list, func(v any) bool { return v == nil || !reflect.DeepEqual(v, list[0]) }) {
		return list
	}
	return list[0]
}

// mergeByNode applies mergeVisits to the values of each node.
func (t *triedCase) mergeByNode(values map[string][]any) map[string]any {
	out := map[string]any{}
	for node, list := range values { //lint:ignore mapiter entries are independent
		out[node] = t.mergeVisits(list)
	}
	return out
}

// splitAnswers returns the answers before the first pause, and the resumes after it. A run pauses
// at breakpoints, and when a person does not answer in time.
func (t *triedCase) splitAnswers() (answers map[string]any, resumes []any) {
	given, atBreakpoint := map[string][]any{}, false
	closeResume := func() {
		switch merged := t.mergeByNode(given); {
		case answers == nil:
			answers = merged
		case len(merged) > 0:
			resumes = append(resumes, map[string]any{"answers": merged})
		case atBreakpoint:
			resumes = append(resumes, map[string]any{})
		}
		given, atBreakpoint = map[string][]any{}, false
	}
	for _, c := range t.choices {
		after, absent := c.value.(time.Duration)
		switch {
		case absent:
			closeResume()
			resumes = append(resumes, map[string]any{"after": after})
		case c.key == "resume":
			closeResume()
			atBreakpoint = true
		case c.key == "answers":
			given[c.node] = append(given[c.node], c.value)
		}
	}
	closeResume()
	if t.resumed >= 0 { // two timeouts may have passed at once
		resumes = resumes[:min(len(resumes), t.resumed)]
	}
	return answers, resumes
}

// plainText matches texts that need no quotes in YAML, not even in flow style.
var plainText = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_./-]*( [A-Za-z0-9_./-]+)*$`)

// yamlText writes a text as a scalar, quoted if necessary.
func yamlText(text string) string {
	words := []string{"false", "no", "null", "off", "on", "true", "yes"}
	if plainText.Get().MatchString(text) && !slices.Contains(words, strings.ToLower(text)) {
		return text
	}
	return jsonText(text)
}

// yamlFlow writes a value in flow style, on one line.
func yamlFlow(v any) string {
	switch v := v.(type) {
	case string:
		return yamlText(v)
	case time.Duration:
		return eval.DurationText(v)
	case []string:
		return yamlList(v, yamlText)
	case []any:
		return yamlList(v, yamlFlow)
	case map[string]any:
		parts := make([]string, 0, len(v))
		for _, name := range sortedNames(v) {
			parts = append(parts, yamlText(name)+": "+yamlFlow(v[name]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return jsonText(v)
}

func yamlList[V any](list []V, text func(V) string) string {
	return "[" + strings.Join(mapSlice(list, text), ", ") + "]"
}

func jsonText(v any) string {
	text, err := eval.AppendJSON(nil, v)
	if err != nil {
		return "null"
	}
	return string(text)
}

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
	for _, r := range report.Results {
		if r.c == nil || r.c.expect.file != f || r.got == nil || hasFatal(r.Failures) {
			continue
		}
		own, done := f.listEdits(&r)
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

// formatExpectation replaces the word update by lines of their own, or by a map in a one-line case.
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
