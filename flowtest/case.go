// A case: the input of a run and the expectations about it.

package flowtest

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
)

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
	flow    *prepared
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
	if input := v.Get("input"); input != nil {
		c.input, _ = input.Data().(map[string]any)
		f.checkInput(input)
	}
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
		c.resumes = append(c.resumes, resumption{f.readAnswers(item.Get("answers")), durationOf(item.Get("after"))})
	}
	c.expect = f.readExpectation(c, v.Get("expect"))
	f.chooseFlow(c)
}

func (f *File) checkInput(input *spec.Value) {
	if !f.Graph.StrictState {
		return
	}
	known := collect(f.Graph.State, func(k *spec.StateKey) string { return k.Name.Value })
	for i := range input.Fields {
		if key := input.Fields[i].Key; !slices.Contains(known, key.Value) {
			f.reportUnknown(key.Span, "state key", key.Value, known)
		}
	}
}

// checkNode reports an unknown node path.
func (f *File) checkNode(path spec.Text) {
	if _, err := f.plain.flow.Find(path.Value); err != nil {
		f.report(path.Span, "unknown-node", "%v", err)
	}
}

func (f *File) checkTool(name spec.Text) {
	known := collect(f.Graph.Tools, func(t spec.Field) string { return t.Key.Value })
	if tool, _, _ := strings.Cut(name.Value, "."); !slices.Contains(known, tool) {
		f.reportUnknown(name.Span, "tool", name.Value, known)
	}
}

// readAnswers reads the answers of people, by the target of the question.
func (f *File) readAnswers(v *spec.Value) map[string][]string {
	if v == nil {
		return nil
	}
	out := map[string][]string{}
	for i := range v.Fields {
		field := &v.Fields[i]
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
	if v == nil {
		return nil
	}
	out := map[string]*decision{}
	for i := range v.Fields {
		field := &v.Fields[i]
		f.checkNode(field.Key)
		f.checkDecides(field.Key)
		out[field.Key.Value] = &decision{valuesOf(&field.Value), field.Value.Kind == spec.List, f.lineOf(field.Key.Span)}
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

// textsOf returns a text, or the items of a list of texts. It returns nil for a map.
func textsOf(v *spec.Value) []spec.Text {
	if v != nil && v.Kind == spec.Map {
		return nil
	}
	return collect(v.OneOrAll(), func(item spec.Value) spec.Text { return item.Text })
}

func valuesOf(v *spec.Value) []string {
	return collect(textsOf(v), func(t spec.Text) string { return t.Value })
}

func durationOf(v *spec.Value) time.Duration {
	d, _ := time.ParseDuration(textOf(v).Value) // an error has been reported
	return d
}

func numberOf(v *spec.Value) int {
	if v == nil {
		return 0
	}
	n, _ := v.Data().(int)
	return n
}

// readRunOptions decodes the key run, which holds options of the command run.
func (f *File) readRunOptions(c *Case, v *spec.Value) {
	c.opts = runner.Options{RunID: "test", Input: c.input, Answers: c.answers, Dir: filepath.Dir(f.Flow)}
	if v == nil {
		return
	}
	c.opts.MaxSteps, c.opts.MaxConcurrency = numberOf(v.Get("max_steps")), numberOf(v.Get("max_concurrency"))
	c.opts.Timeout = durationOf(v.Get("timeout"))
	c.opts.Goal = textOf(v.Get("goal")).Value
	pauses := func(key string) (nodes []string) {
		for _, name := range textsOf(v.Get(key)) {
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
