// Reading test files and their cases.

package flowtest

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

// File is a test file that is ready to run.
type File struct {
	// Name is the path of the file, Flow the path of the flow under test.
	Name, Flow string
	Graph      *spec.Graph
	Cases      []*Case

	src      *spec.File
	defaults *spec.Value // may be nil
	cfg      Config
	found    spec.Diagnostics
	shape    spec.Diagnostics         // findings about unknown, missing and invalid keys
	plain    *preparedFlow            // the flow without replaced nodes
	flows    map[string]*preparedFlow // by replacement.key
}

// Load reads a test file and its flow. A file with errors among the findings must not be run. err
// is an error of the file system.
func Load(cfg Config, name string) (*File, spec.Diagnostics, error) {
	src, err := readFile(name)
	if err != nil {
		return nil, nil, err
	}
	return Parse(cfg, name, src)
}

// Parse is like Load but reads the test file from src.
func Parse(cfg Config, name string, src []byte) (*File, spec.Diagnostics, error) {
	f := &File{Name: name, cfg: cfg, src: spec.NewFile(name, src)}
	root, found := spec.Read(name, src, "a test file is a map with the keys graphrun-test and cases", Keys())
	if root == nil {
		return nil, found, nil
	}
	f.found, f.shape = found, found.Errors()
	dropInvalid(root, f.shape) // the rest is checked, too
	at := root.Span
	f.Flow = defaultFlow(name)
	if flow := root.Get("flow"); flow != nil {
		at = flow.Span
		f.Flow = filepath.Join(filepath.Dir(name), filepath.FromSlash(flow.Text.Value))
	}
	text, err := readFile(f.Flow)
	if errors.Is(err, fs.ErrNotExist) {
		f.report(at, "invalid-value", "there is no flow %q", f.Flow)
		return nil, f.found.Sort(), nil
	}
	if err == nil {
		err = f.prepare(text)
	}
	if err != nil || f.plain == nil {
		return nil, f.found.Sort(), err
	}
	f.readCases(root)
	for _, c := range f.Cases {
		f.compile(c)
	}
	if len(f.shape) > 0 { // dropInvalid has removed parts
		return nil, f.found.Sort(), nil
	}
	return f, f.found.Sort(), nil
}

func (f *File) prepare(text []byte) error {
	check := f.cfg.Check
	if check == nil {
		check = f.checkFlow
	}
	g, found := check(f.Flow, text)
	if found.HasErrors() {
		f.found = append(f.found, found.Errors()...)
		return nil
	}
	f.Graph = g
	flow, invalid, err := f.prepareFlow(nil, nil)
	f.found = append(f.found, invalid.Errors()...)
	f.plain, f.flows = flow, map[string]*preparedFlow{"": flow}
	return err
}

// prepareFlow prepares the flow with rewritten graphs, or returns findings if they are invalid.
func (f *File) prepareFlow(kept store.Store, rewrite func(string, *spec.Graph) *spec.Graph) (*preparedFlow, spec.Diagnostics, error) {
	r, err := newRunner(&f.cfg, kept, rewrite)
	if err != nil {
		return nil, nil, err
	}
	flow, err := r.Prepare(f.Graph)
	if invalid, ok := errors.AsType[*runner.InvalidError](err); ok {
		return nil, invalid.Diagnostics, nil
	}
	if err != nil {
		return nil, nil, err
	}
	return &preparedFlow{r, flow}, nil, nil
}

func (f *File) checkFlow(path string, src []byte) (*spec.Graph, spec.Diagnostics) {
	g, found := spec.Parse(path, src, spec.Options{Kinds: specKinds(f.cfg.Kinds), Load: spec.NewLoader(path)})
	return g, append(found, spec.Check(g)...)
}

func specKinds(kinds []runner.Kind) []spec.Kind {
	return mapSlice(kinds, func(k runner.Kind) spec.Kind { return k.Spec })
}

// report adds a finding about the test file.
func (f *File) report(at spec.Span, rule, format string, args ...any) {
	f.found = append(f.found, spec.Diagnostic{
		File: f.src, Rule: rule, Severity: spec.Error, Span: at, Message: fmt.Sprintf(format, args...),
	})
}

// findLine returns the line of a span, from 1.
func (f *File) findLine(at spec.Span) int { return f.src.Position(at.From).Line }

// readCases reads the cases. Each row of a table becomes a case.
func (f *File) readCases(root *spec.Value) {
	mergedKeys := []string{"answers", "decide", "expect", "input", "run", "stubs", "tools"}
	f.defaults = root.Get("defaults")
	seen := map[string]bool{}
	list := root.Get("cases")
	if list == nil { // it has been reported
		return
	}
	for _, own := range list.Items {
		name := own.Get("name").Scalar()
		if name.IsSet() && seen[name.Value] {
			f.report(name.Span, "duplicate-key", "there is a case %q already; names of cases are unique in a file", name.Value)
		}
		seen[name.Value] = true
		whole := mergeValues(f.defaults, &own, mergedKeys...)
		rows := own.Get("each")
		if rows == nil {
			f.addCase(name.Value, whole, &own, own.Span)
			continue
		}
		for row := range rows.Items {
			value := &rows.Items[row]
			label := cmp.Or(value.Get("name").Scalar().Value, strconv.Itoa(row+1))
			f.addCase(name.Value+"/"+label, mergeValues(whole, value, mergedKeys...), &own, value.Span)
		}
	}
}

func (f *File) addCase(name string, value, own *spec.Value, at spec.Span) {
	f.Cases = append(f.Cases, &Case{Name: name, Line: f.findLine(at), value: value, own: own, at: at})
}

// mergeValues returns over with the entries that only base has. It merges maps under the given keys.
func mergeValues(base, over *spec.Value, keys ...string) *spec.Value {
	if base == nil {
		return over
	}
	out := *over
	out.Fields = slices.Clone(over.Fields)
	for _, field := range base.Fields {
		key := field.Key.Value
		i := slices.IndexFunc(out.Fields, func(f spec.Field) bool { return f.Key.Value == key })
		if i < 0 {
			out.Fields = append(out.Fields, field)
		} else if own := &out.Fields[i].Value; slices.Contains(keys, key) && own.Kind == spec.Map && field.Value.Kind == spec.Map {
			*own = *mergeValues(&field.Value, own)
		}
	}
	return &out
}

func (f *File) reportUnknown(at spec.Span, what, name string, known []string) {
	f.report(at, "unknown-node", "no %s %q", what, name)
	d := &f.found[len(f.found)-1]
	if d.Suggestion = suggest.Closest(name, known); d.Suggestion == "" && len(known) > 0 && len(known) <= 12 {
		slices.Sort(known)
		d.Message += " (" + what + "s: " + strings.Join(known, ", ") + ")"
	}
}

// mapSlice returns the results of a function for each item of a list.
func mapSlice[T, U any](list []T, part func(T) U) []U {
	out := make([]U, len(list))
	for i, item := range list {
		out[i] = part(item)
	}
	return out
}

// dropInvalid removes the parts of a value with findings, so that the rest can be checked.
func dropInvalid(v *spec.Value, found spec.Diagnostics) {
	isBad := func(at spec.Span, isKey bool) bool {
		return slices.ContainsFunc(found, func(d spec.Diagnostic) bool {
			return d.Span.From == at.From && d.Rule != "missing-field" && (isKey || d.Rule != "unknown-key")
		})
	}
	v.Fields = slices.DeleteFunc(v.Fields, func(f spec.Field) bool { return isBad(f.Key.Span, true) || isBad(f.Value.Span, false) })
	v.Items = slices.DeleteFunc(v.Items, func(item spec.Value) bool { return isBad(item.Span, false) })
	for i := range v.Fields {
		dropInvalid(&v.Fields[i].Value, found)
	}
	for i := range v.Items {
		dropInvalid(&v.Items[i], found)
	}
}

// hasShapeError reports whether dropInvalid may have removed parts of a case.
func (f *File) hasShapeError(c *Case) bool {
	return slices.ContainsFunc(f.shape, func(d spec.Diagnostic) bool {
		in := func(at spec.Span) bool { return at.From <= d.Span.From && d.Span.From < at.To }
		return in(c.own.Span) || f.defaults != nil && in(f.defaults.Span)
	})
}

// Case is one run of a flow; each row of a table is a case.
type Case struct {
	// Name is unique in the file: NAME, or NAME/ROW.
	Name string
	// Line is the first line of the case or row, from 1.
	Line int

	value *spec.Value // with the defaults and, for a row, its case
	own   *spec.Value // as in the file
	at    spec.Span

	input   map[string]any
	stubs   map[string]*stub
	tools   map[string]*stub
	answers map[string][]string
	decide  map[string]*decision
	script  string // the model of scripted answers, or ""
	dir     string // the folder of the script file
	opts    runner.Options
	session *spec.Value
	resumes []resumption
	expect  *expectation
	flow    *preparedFlow
}

// decision holds the targets that a node's llm_decide edges choose.
type decision struct {
	targets []string
	list    bool
	line    int
}

// resumption says how a paused run is resumed.
type resumption struct {
	answers map[string][]string
	after   time.Duration
}

// compile reads the keys of a case.
func (f *File) compile(c *Case) {
	v := c.value
	c.input, _ = v.Get("input").Data().(map[string]any)
	f.checkInput(v.Get("input"))
	c.stubs = f.readStubs(v.Get("stubs"), f.checkNode)
	c.tools = f.readStubs(v.Get("tools"), f.checkTool)
	c.answers = f.readAnswers(v.Get("answers"))
	c.decide = f.readDecisions(v.Get("decide"))
	if models := v.Get("models"); models != nil {
		c.script = "scripted/" + filepath.ToSlash(models.Text.Value)
		c.dir = filepath.Dir(f.Name)
		if _, err := readFile(filepath.Join(c.dir, filepath.FromSlash(models.Text.Value))); err != nil {
			f.report(models.Span, "invalid-value", "the scripted answers can't be read: %v", err)
		}
	}
	f.readRunOptions(c, v.Get("run"))
	for _, item := range v.Get("resume").OneOrAll() {
		c.resumes = append(c.resumes, resumption{f.readAnswers(item.Get("answers")), parseDuration(item.Get("after"))})
	}
	c.expect = f.readExpectation(c, v.Get("expect"))
	f.chooseFlow(c)
}

func (f *File) checkInput(input *spec.Value) {
	if !f.Graph.StrictState {
		return
	}
	known := mapSlice(f.Graph.State, func(k *spec.StateKey) string { return k.Name.Value })
	for _, field := range input.Entries() {
		if !slices.Contains(known, field.Key.Value) {
			f.reportUnknown(field.Key.Span, "state key", field.Key.Value, known)
		}
	}
}

func (f *File) checkNode(path spec.Text) {
	if _, err := f.plain.flow.FindNode(path.Value); err != nil {
		f.report(path.Span, "unknown-node", "%v", err)
	}
}

func (f *File) checkTool(name spec.Text) {
	known := mapSlice(f.Graph.Tools, func(t spec.Field) string { return t.Key.Value })
	if tool, _, _ := strings.Cut(name.Value, "."); !slices.Contains(known, tool) {
		f.reportUnknown(name.Span, "tool", name.Value, known)
	}
}

// readAnswers reads the answers of people, by the target of the question.
func (f *File) readAnswers(v *spec.Value) map[string][]string {
	out := map[string][]string{}
	for _, field := range v.Entries() {
		if err := f.plain.flow.CheckAnswer(field.Key.Value, nil); err != nil {
			f.report(field.Key.Span, "unknown-node", "%v", err)
			continue
		}
		values, times := field.Value.OneOrAll(), everyVisit
		if field.Value.Kind == spec.List {
			times = 1
		}
		for j := range values {
			text := answerText(&values[j])
			if err := f.plain.flow.CheckAnswer(field.Key.Value, []string{text}); err != nil {
				f.report(values[j].Span, "invalid-value", "%v", err)
			}
			out[field.Key.Value] = append(out[field.Key.Value], slices.Repeat([]string{text}, times)...)
		}
	}
	return out
}

// everyVisit is how often a single answer is repeated: more often than any run asks.
const everyVisit = 256

// answerText writes an answer as a person types it.
func answerText(v *spec.Value) string {
	if v.IsScalar() {
		return v.Text.Value
	}
	return jsonText(v.Data())
}

func (f *File) readDecisions(v *spec.Value) map[string]*decision {
	out := map[string]*decision{}
	for _, field := range v.Entries() {
		f.checkNode(field.Key)
		f.checkDecides(field.Key)
		out[field.Key.Value] = &decision{listStrings(&field.Value), field.Value.Kind == spec.List, f.findLine(field.Key.Span)}
	}
	return out
}

// checkDecides reports a decision for a node without llm_decide edges.
func (f *File) checkDecides(name spec.Text) {
	if n := f.Graph.Node(name.Value); n == nil || slices.ContainsFunc(f.Graph.Edges, func(e *spec.Edge) bool {
		return e.From.Value == name.Value && e.Condition == "llm_decide"
	}) {
		return
	}
	f.report(name.Span, "invalid-value", "%q has no llm_decide edge, so nothing is decided there", name.Value)
}

// listTexts returns a text, or the items of a list of texts. It returns nil for a map.
func listTexts(v *spec.Value) []spec.Text {
	if v != nil && v.Kind == spec.Map {
		return nil
	}
	return mapSlice(v.OneOrAll(), func(item spec.Value) spec.Text { return item.Text })
}

func listStrings(v *spec.Value) []string {
	return mapSlice(listTexts(v), func(t spec.Text) string { return t.Value })
}

func parseDuration(v *spec.Value) time.Duration {
	d, _ := time.ParseDuration(v.Scalar().Value) // an error has been reported
	return d
}

func intValue(v *spec.Value) int {
	n, _ := v.Data().(int)
	return n
}

// readRunOptions decodes the key run, which holds options of the command run.
func (f *File) readRunOptions(c *Case, v *spec.Value) {
	c.opts = runner.Options{RunID: "test", Input: c.input, Answers: c.answers, Dir: filepath.Dir(f.Flow)}
	if v == nil {
		return
	}
	c.opts.MaxSteps, c.opts.MaxConcurrency = intValue(v.Get("max_steps")), intValue(v.Get("max_concurrency"))
	c.opts.Timeout = parseDuration(v.Get("timeout"))
	c.opts.Goal = v.Get("goal").Scalar().Value
	pauses := func(key string) (nodes []string) {
		for _, name := range listTexts(v.Get(key)) {
			f.checkNode(name)
			nodes = append(nodes, name.Value)
		}
		return nodes
	}
	c.opts.PauseBefore, c.opts.PauseAfter = pauses("pause_before"), pauses("pause_after")
	if labels := v.Get("labels"); labels != nil {
		c.opts.Labels = map[string]string{}
		for i := range labels.Fields {
			c.opts.Labels[labels.Fields[i].Key.Value] = labels.Fields[i].Value.Text.Value
		}
	}
	if c.session = v.Get("session"); c.session != nil {
		c.opts.Session = "test"
		if c.session.Kind != spec.Map {
			c.opts.Session = c.session.Text.Value
		}
	}
}
