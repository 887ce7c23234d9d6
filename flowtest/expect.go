// Expectations about the end of a run, and how values are compared with them.

package flowtest

import (
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
)

type expectation struct {
	file       *File
	value      *spec.Value
	update     bool // the case says "expect: update"
	assertions []assertion
	edges      []expectedEdge
}

// assertion is an expression that must be true at the end.
type assertion struct {
	text    spec.Text
	program *eval.Program
}

// expectedEdge is an edge that must fire, or must not.
type expectedEdge struct {
	name  spec.Text
	edges []int // indexes: all edges between two nodes, or the one with the id
	fired bool
}

// readExpectation reads and checks the key expect.
func (f *File) readExpectation(c *Case, v *spec.Value) *expectation {
	x := &expectation{file: f, value: v}
	if v == nil || v.Kind == spec.Map && len(v.Fields) == 0 {
		if f.hasShapeError(c) { // it may have invalid expectations
			return x
		}
		f.report(c.at, "missing-field", "case %q expects nothing: say what must hold at the end with expect, or expect: update", c.Name)
		return x
	}
	if x.update = v.Kind == spec.String; x.update {
		return x
	}
	for key, words := range map[string][]string{ //lint:ignore mapiter findings are sorted
		"status":  {"cancelled", "completed", "failed", "limit", "paused", "stuck"},
		"quality": {"clean", "degraded", "failed"},
	} {
		if word := v.Get(key); word != nil && !slices.Contains(words, word.Text.Value) && !isPattern(word.Text.Value) {
			f.reportUnknown(word.Span, key, word.Text.Value, words)
			f.found[len(f.found)-1].Rule = "invalid-value"
		}
	}
	f.checkPatterns(v)
	f.checkPath(v.Get("path"))
	for _, visits := range v.Get("visits").Entries() {
		f.checkOwnNode(visits.Key)
	}
	if d := v.Get("duration"); d != nil && !isPattern(d.Text.Value) && !spec.IsDuration(d.Text.Value) {
		f.report(d.Span, "invalid-value", `"duration" is %q; want a duration such as 1h30m, or /a pattern/`, d.Text.Value)
	}
	x.assertions = f.compileAssertions(v.Get("where"))
	if edges := v.Get("edges"); edges != nil {
		x.edges = append(f.readExpectedEdges(edges.Get("fired"), true), f.readExpectedEdges(edges.Get("not_fired"), false)...)
	}
	return x
}

// checkOwnNode reports an unknown node. It does not look into subgraphs.
func (f *File) checkOwnNode(name spec.Text) {
	if isPattern(name.Value) || f.Graph.Node(name.Value) != nil {
		return
	}
	f.reportUnknown(name.Span, "node", name.Value, mapSlice(f.Graph.Nodes, func(n *spec.Node) string { return n.ID.Value }))
}

func (f *File) checkPath(v *spec.Value) {
	for _, name := range listTexts(v) {
		f.checkOwnNode(name)
	}
	for _, field := range v.Entries() {
		if field.Key.Value == "matches" {
			f.checkPattern(field.Value.Text)
		} else {
			f.checkPath(&field.Value)
		}
	}
}

// checkPatterns reports invalid regular expressions between slashes.
func (f *File) checkPatterns(v *spec.Value) {
	for i := range v.Items {
		f.checkPatterns(&v.Items[i])
	}
	for i := range v.Fields {
		f.checkPatterns(&v.Fields[i].Value)
	}
	if v.Kind == spec.String && isPattern(v.Text.Value) {
		f.checkPattern(v.Text)
	}
}

func (f *File) checkPattern(text spec.Text) {
	if _, err := regexp.Compile(trimSlashes(text.Value)); err != nil {
		f.report(text.Span, "invalid-value", "invalid regular expression: %v", err)
	}
}

func (f *File) readExpectedEdges(v *spec.Value, fired bool) []expectedEdge {
	var out []expectedEdge
	for _, name := range listTexts(v) {
		w := expectedEdge{name: name, fired: fired}
		from, to, isPair := strings.Cut(strings.ReplaceAll(name.Value, "→", "->"), "->")
		from, to = strings.TrimSpace(from), strings.TrimSpace(to)
		var known []string
		for i, e := range f.Graph.Edges {
			if isPair && e.From.Value == from && e.To.Value == to || !isPair && e.ID.Value == name.Value {
				w.edges = append(w.edges, i)
			}
			if known = append(known, e.From.Value+" -> "+e.To.Value); e.ID.IsSet() {
				known = append(known, e.ID.Value)
			}
		}
		if len(w.edges) == 0 {
			f.reportUnknown(name.Span, "edge", name.Value, known)
		}
		out = append(out, w)
	}
	return out
}

// expectsInvalidOutput reports whether the case expects an output that breaks its schema.
func (x *expectation) expectsInvalidOutput() bool {
	const kind = "invalid_output"
	named := x.value.Get("error").Get("kind")
	return named != nil && matchText(named.Text.Value, kind) ||
		slices.ContainsFunc(x.assertions, func(w assertion) bool { return strings.Contains(w.text.Value, kind) })
}

func (x *expectation) check(r *runner.Result) []Failure {
	if x.update {
		return []Failure{{What: "expect", Line: x.file.findLine(x.value.Span), Want: "update", Got: "not written yet: run test --update"}}
	}
	k := &checker{x: x, r: r, end: describeEnd(x.file.Graph, r)}
	for _, field := range x.value.Fields {
		k.at = field.Key.Span
		k.checkKey(field.Key.Value, &field.Value)
	}
	return k.failures
}

// checker collects the failed expectations of one run.
type checker struct {
	x        *expectation
	r        *runner.Result
	end      map[string]any // see describeEnd
	at       spec.Span
	failures []Failure
}

func (k *checker) addFailure(what string, want, got any) {
	k.failures = append(k.failures, Failure{What: what, Line: k.x.file.findLine(k.at), Want: want, Got: got})
}

func (k *checker) checkKey(name string, v *spec.Value) {
	switch name {
	case "exit":
		k.checkData(name, v, k.r.ExitCode(false))
	case "visits", "state", "error":
		k.checkMembers(name, v)
	case "state_exactly":
		if want := v.Data(); !matchValue(want, any(k.r.State), false) {
			k.addFailure(name, want, k.r.State)
		}
	case "pending":
		got, _ := k.end[name].([]any)
		if want, _ := v.Data().([]any); len(want) != len(got) || !matchSubset(want, got) {
			k.addFailure(name, want, got)
		}
	case "duration":
		k.checkDuration(v)
	case "edges":
		k.checkEdges()
	case "where":
		k.checkWheres()
	case "path":
		k.checkPath(v)
	default:
		k.checkData(name, v, k.end[name])
	}
}

// checkMembers compares the members of an object that the case names.
func (k *checker) checkMembers(name string, v *spec.Value) {
	object, isObject := k.end[name].(map[string]any)
	if !isObject {
		k.addFailure(name, v.Data(), nil)
		return
	}
	for i := range v.Fields {
		k.at = v.Fields[i].Key.Span
		key := v.Fields[i].Key.Value
		k.checkData(name+"."+key, &v.Fields[i].Value, object[key])
	}
}

func (k *checker) checkData(what string, v *spec.Value, got any) {
	if want := v.Data(); !matchSubset(want, got) {
		k.addFailure(what, want, got)
	}
}

// pendingData returns the questions of a run as plain data.
func pendingData(r *runner.Result) []any {
	text, err := json.Marshal(r.Pending)
	var plain any
	if err == nil && json.Unmarshal(text, &plain) == nil {
		plain, _ = eval.Canonical(plain)
	}
	list, _ := plain.([]any)
	return append([]any{}, list...)
}

func (k *checker) checkDuration(v *spec.Value) {
	got := time.Duration(k.r.Duration)
	if want := v.Text.Value; isPattern(want) {
		k.checkData("duration", v, got.String())
	} else if d, err := time.ParseDuration(want); err == nil && d != got {
		k.addFailure("duration", eval.DurationText(d), eval.DurationText(got))
	}
}

func (k *checker) checkEdges() {
	for _, w := range k.x.edges {
		fired := 0
		for _, i := range w.edges {
			fired += k.r.Edges[i].Fired
		}
		if (fired > 0) == w.fired {
			continue
		}
		k.at = w.name.Span
		if w.fired {
			k.addFailure("edges.fired", w.name.Value, "it did not fire")
		} else {
			k.addFailure("edges.not_fired", w.name.Value, "it fired "+eval.Count(fired, "time"))
		}
	}
}

// checkPath compares the path with a list, or with each form of a map.
func (k *checker) checkPath(v *spec.Value) {
	if v.Kind == spec.List {
		k.checkPathForm("exactly", v)
		return
	}
	for i := range v.Fields {
		k.at = v.Fields[i].Key.Span
		k.checkPathForm(v.Fields[i].Key.Value, &v.Fields[i].Value)
	}
}

func (k *checker) checkPathForm(form string, v *spec.Value) {
	path, want := k.r.Path, listStrings(v)
	what, ok := "path."+form, len(want) <= len(path)
	isOnPath := func(name string) bool {
		return slices.ContainsFunc(path, func(got string) bool { return matchText(name, got) })
	}
	switch form {
	case "exactly":
		what, ok = "path", slices.EqualFunc(want, path, matchText)
	case "starts":
		ok = ok && slices.EqualFunc(want, path[:len(want)], matchText)
	case "ends":
		ok = ok && slices.EqualFunc(want, path[len(path)-len(want):], matchText)
	case "contains":
		ok = !slices.ContainsFunc(want, func(name string) bool { return !isOnPath(name) })
	case "order":
		at := 0
		for _, got := range path {
			if at < len(want) && matchText(want[at], got) {
				at++
			}
		}
		ok = at == len(want)
	case "never":
		ok = !slices.ContainsFunc(want, isOnPath)
	case "matches":
		all := strings.Join(path, " ")
		if pattern, err := regexp.Compile(trimSlashes(v.Text.Value)); err != nil || !pattern.MatchString(all) {
			k.addFailure(what, v.Text.Value, all)
		}
		return
	}
	if !ok {
		k.addFailure(what, want, path)
	}
}

// endScope returns the types of the names in expressions of where.
func (f *File) endScope() *eval.Scope {
	g := f.Graph
	keys, counts, outputs, nodes := map[string]eval.Type{}, map[string]eval.Type{}, map[string]eval.Type{}, map[string]eval.Type{}
	for _, key := range g.State {
		keys[key.Name.Value] = eval.FromSchema(key.Schema)
	}
	object := func(fields map[string]eval.Type) eval.Type { return eval.Object(fields, false) }
	failure := object(map[string]eval.Type{"kind": eval.String(), "message": eval.String(), "node": eval.String(), "attempt": eval.Int(), "details": eval.Any()})
	node := object(map[string]eval.Type{"output": eval.Any(), "visits": eval.Int(), "outcome": eval.String(), "error": failure})
	for _, n := range g.Nodes {
		id := n.ID.Value
		counts[id], outputs[id], nodes[id] = eval.Int(), eval.List(eval.Any()), node
	}
	names := map[string]eval.Type{
		"output": eval.Any(), "status": eval.String(), "quality": eval.String(), "reason": eval.String(),
		"path": eval.List(eval.String()), "steps": eval.Int(), "duration": eval.Float(), "error": failure,
		"visits": object(counts), "history": object(outputs), "nodes": object(nodes),
		"pending": eval.List(eval.Object(nil, true)), "state": eval.Object(keys, !g.StrictState),
	}
	for name, t := range keys {
		if _, taken := names[name]; !taken {
			names[name] = t
		}
	}
	return eval.NewScope(names, eval.ScopeOptions{Roots: []string{"state"}, Open: !g.StrictState})
}

func (f *File) compileAssertions(v *spec.Value) []assertion {
	if v == nil {
		return nil
	}
	scope := f.endScope()
	var out []assertion
	for _, text := range listTexts(v) {
		program, err := scope.Compile(text.Value, eval.Condition)
		if err != nil {
			f.report(text.At(err.From, err.To), err.Rule, "%s", err.Message)
			f.found[len(f.found)-1].Suggestion = err.Suggestion
			continue
		}
		out = append(out, assertion{text, program})
	}
	return out
}

// describeEnd returns the values of the names in expressions of where.
func describeEnd(g *spec.Graph, r *runner.Result) map[string]any {
	visits, nodes, history := map[string]any{}, map[string]any{}, map[string]any{}
	counts := map[string]int{}
	for _, node := range r.Path {
		counts[node]++
	}
	for _, n := range g.Nodes {
		id := n.ID.Value
		visits[id], history[id] = counts[id], []any{}
		nodes[id] = map[string]any{"output": nil, "visits": counts[id], "outcome": nil, "error": nil}
	}
	for _, h := range r.History {
		node, ok := nodes[h.Node].(map[string]any)
		if !ok {
			continue
		}
		node["outcome"], node["output"], node["error"] = h.Outcome, h.Output, nil
		if h.Error != nil {
			node["error"] = failureData(h.Error)
		} else if list, ok := history[h.Node].([]any); ok {
			history[h.Node] = append(list, h.Output)
		}
	}
	path := mapSlice(r.Path, func(name string) any { return name })
	env := map[string]any{}
	maps.Copy(env, r.State)
	maps.Copy(env, map[string]any{
		"output": r.Output, "status": string(r.Status), "quality": string(r.Quality), "reason": r.Reason,
		"path": path, "steps": r.Steps, "duration": time.Duration(r.Duration).Seconds(), "visits": visits,
		"history": history, "nodes": nodes, "pending": pendingData(r), "state": r.State, "error": nil,
	})
	if r.Error != nil {
		env["error"] = failureData(r.Error)
	}
	return env
}

func failureData(e *runner.Failure) map[string]any {
	return map[string]any{"kind": e.Kind, "message": e.Message, "node": e.Node, "attempt": e.Attempt, "details": any(e.Details)}
}

func (k *checker) checkWheres() {
	var vm eval.VM
	for _, w := range k.x.assertions {
		k.at = w.text.Span
		reason := vm.Explain(w.program, k.end, func(_ []any, v any) string { return shorten(formatValue(v)) })
		holds, err := vm.Test(w.program, k.end)
		switch {
		case err != nil:
			k.addFailure("where", w.text.Value, err.Error())
		case !holds:
			k.addFailure("where", w.text.Value, reason.String())
		}
	}
}

// isPattern reports whether a text is a regular expression between slashes.
func isPattern(text string) bool {
	return len(text) > 2 && strings.HasPrefix(text, "/") && strings.HasSuffix(text, "/")
}

func trimSlashes(text string) string {
	if isPattern(text) {
		return text[1 : len(text)-1]
	}
	return text
}

// matchText reports whether a text equals want, or matches /want/.
func matchText(want, got string) bool {
	if !isPattern(want) {
		return want == got
	}
	pattern, err := regexp.Compile(trimSlashes(want))
	return err == nil && (pattern.MatchString(got) || want == got)
}

// matchSubset is matchValue where objects may have more keys.
func matchSubset(want, got any) bool { return matchValue(want, got, true) }

// matchValue reports whether a value matches. A text may be a /pattern/, and numbers of different
// types can be equal. With subset, objects may have more keys.
func matchValue(want, got any, subset bool) bool {
	switch w := want.(type) {
	case string:
		if text, ok := got.(string); ok {
			return matchText(w, text)
		}
		return isPattern(w) && got != nil && matchText(w, eval.Text(got))
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok || !subset && len(g) != len(w) {
			return false
		}
		for name, value := range w {
			own, there := g[name]
			if !there && value != nil || !there && !subset || !matchValue(value, own, subset) {
				return false
			}
		}
		return true
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for i := range w {
			if !matchValue(w[i], g[i], subset) {
				return false
			}
		}
		return true
	case int, float64:
		g, isNumber := eval.Number(got)
		own, _ := eval.Number(want)
		return isNumber && own == g
	}
	return want == got
}

// formatValue writes a value for a message.
func formatValue(v any) string {
	if text, ok := v.(string); ok && !strings.Contains(text, "\n") {
		return text
	}
	if list, ok := v.([]string); ok {
		return "[" + strings.Join(list, ", ") + "]"
	}
	return jsonText(v)
}

// diffValues compares lists and objects line by line. It returns nil for short values.
func diffValues(want, got any) []string {
	w, wok := splitLines(want)
	g, gok := splitLines(got)
	if !wok || !gok || len(w)+len(g) < 4 {
		return nil
	}
	return append([]string{"- want, + got"}, diffLines(w, g)...)
}

// alignValue replaces the parts of want that match with the parts of got, so that a diff hides them.
func alignValue(want, got any, subset bool) any {
	if matchValue(want, got, subset) {
		return got
	}
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return want
		}
		out := map[string]any{}
		for name, value := range w {
			out[name] = value
			if own, there := g[name]; there {
				out[name] = alignValue(value, own, subset)
			}
		}
		for name, value := range g {
			if _, named := w[name]; !named && subset {
				out[name] = value
			}
		}
		return out
	case []any:
		g, _ := got.([]any)
		out := slices.Clone(w)
		for i := range min(len(w), len(g)) {
			out[i] = alignValue(w[i], g[i], subset)
		}
		return out
	}
	return want
}

// splitLines writes a list or object with one entry per line.
func splitLines(v any) ([]string, bool) {
	if list, isList := v.([]string); isList {
		return slices.Clone(list), true
	}
	if kind := reflect.ValueOf(v).Kind(); kind != reflect.Map && kind != reflect.Slice {
		return nil, false
	}
	text, err := json.MarshalIndent(v, "", "  ")
	return strings.Split(string(text), "\n"), err == nil
}

// maxCells bounds the table of the longest common subsequence.
const maxCells = 1 << 20

// diffLines marks the lines that only one list has. Lines of the first may be patterns.
func diffLines(a, b []string) []string {
	if len(a)*len(b) > maxCells {
		return append(prefixLines("- ", a), prefixLines("+ ", b)...)
	}
	longest := make([][]int, len(a)+1)
	for i := range longest {
		longest[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if matchText(a[i], b[j]) {
				longest[i][j] = longest[i+1][j+1] + 1
			} else {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			}
		}
	}
	var out []string
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case matchText(a[i], b[j]):
			out = append(out, "  "+b[j])
			i, j = i+1, j+1
		case longest[i+1][j] >= longest[i][j+1]:
			out = append(out, "- "+a[i])
			i++
		default:
			out = append(out, "+ "+b[j])
			j++
		}
	}
	return append(append(out, prefixLines("- ", a[i:])...), prefixLines("+ ", b[j:])...)
}

func prefixLines(mark string, lines []string) []string {
	return mapSlice(lines, func(line string) string { return mark + line })
}
