// Dry runs, which replace every effect by a made-up value.

package flowtest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/explore"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/node"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/virtual"
	"github.com/graphrun/graphrun/spec"
)

// dryRun is a run with made-up effects.
type dryRun struct {
	graph *spec.Graph
	stubs map[string]*stub
	kinds []spec.Kind // in addition to the built-in ones

	mu     sync.Mutex
	steps  []*Planned
	madeUp map[string]bool // state keys with made-up values
	hidden []string        // texts to mask
}

// DryRun runs a flow with made-up effects and returns what each step would do. It starts at
// the time of opts.Clock, if set, and uses virtual time. stubs is a map of a case's stubs, or
// nil. Nothing is executed, sent or stored.
func DryRun(ctx context.Context, cfg Config, g *spec.Graph, opts runner.Options, stubs *spec.Value, name string) (*runner.Result, []*Planned, error) {
	d := &dryRun{graph: g, kinds: specKinds(cfg.Kinds), madeUp: map[string]bool{}}
	f := &File{Name: name, Flow: g.File.Name, Graph: g, cfg: cfg, src: spec.NewFile(name, nil)}
	d.stubs = f.readStubs(stubs, func(spec.Text) {})
	r, err := newRunner(&cfg, nil, stubPeople)
	if err != nil {
		return nil, nil, err
	}
	flow, err := r.Prepare(g)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range sortedNames(d.stubs) {
		if _, err := flow.FindNode(s); err != nil {
			return nil, nil, &runner.InputError{Problems: []string{fmt.Sprintf("stub %q: %v", s, err)}}
		}
	}
	for _, key := range g.State {
		if text, ok := opts.Input[key.Name.Value].(string); ok && key.Secret && text != "" {
			d.hidden = append(d.hidden, text)
		}
	}
	opts.Input = d.fillInputs(opts.Input)
	begin := startTime()
	if opts.Clock != nil {
		begin = opts.Clock.Now()
	}
	a := &runningCase{c: &Case{stubs: d.stubs}, cfg: &cfg, clock: virtual.NewClock(begin), dry: d}
	opts.Clock, opts.Sink, opts.Answers, opts.Ask = a.clock, d, nil, nil
	opts.Secrets = makeSecrets(func(string) string { return "***" })
	if opts.RunID == "" {
		opts.RunID = "dry-run"
	}
	result, err := flow.Run(context.WithValue(ctx, runningCaseKey{}, a), opts)
	number := func(p *Planned) int { return cmp.Or(p.Step, math.MaxInt) } // stopped steps come last
	slices.SortStableFunc(d.steps, func(a, b *Planned) int { return cmp.Compare(number(a), number(b)) })
	return result, d.steps, err
}

// fillInputs adds made-up values for missing inputs.
func (d *dryRun) fillInputs(given map[string]any) map[string]any {
	out := map[string]any{}
	maps.Copy(out, given)
	for _, key := range d.graph.State {
		if _, has := out[key.Name.Value]; key.Required && !has {
			out[key.Name.Value], _ = explore.Sample(key.Schema)
			d.madeUp[key.Name.Value] = true
		}
	}
	return out
}

// stubPeople replaces human nodes by stubs. The dry run gives their outputs.
func stubPeople(_ string, g *spec.Graph) *spec.Graph {
	with := map[string]*spec.Node{}
	for _, n := range g.Nodes {
		if n.Kind.Value == "human" {
			own := *n
			own.Kind.Value, own.Timeout = stubKind, 0
			with[n.ID.Value] = &own
		}
	}
	return g.WithNodes(with)
}

// madeUpModel answers with a value that the schema allows.
type madeUpModel struct {
	dry  *dryRun
	task *runner.Task
}

// Chat returns the output of the node's stub, or a made-up one.
func (m madeUpModel) Chat(_ context.Context, req *model.Request, _ func(string)) (*model.Response, error) {
	var made any = explore.AnyText
	if req.Schema != nil {
		made, _ = explore.Sample(req.Schema)
	}
	m.dry.recordPrompt(m.task, req, made)
	content, isText := made.(string)
	if !isText || req.Schema != nil {
		content = jsonText(made)
	} else if text, isText := MakeUpOutput(m.task.Graph, findNode(m.task), m.dry.kinds...).(string); isText {
		content = text
	}
	if e, _ := m.dry.findStub(m.task); e != nil && e.output != nil && (req.Caller.Role == "chat" || req.Caller.Role == "") {
		content = answerText(e.output)
	}
	if req.Caller.Role == "judge" {
		content = `{"verdict": "ACCEPT", "feedback": "made up", "score": 1}`
	}
	return &model.Response{Content: content, Stop: model.StopEnd}, nil
}

// findStub returns the entry of a stub for a task, or nil. A stub without one is a problem.
func (d *dryRun) findStub(task *runner.Task) (e *entry, problem string) {
	s := d.stubs[task.Node]
	if s == nil {
		return nil, ""
	}
	return s.pickEntry(attemptKey{task.Visit, task.Attempt, task.Index}, "visit")
}

// recordPrompt records the prompt of a model call, and the made-up answer.
func (d *dryRun) recordPrompt(task *runner.Task, req *model.Request, made any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.findStep(task.Node, task.Visit)
	if p == nil || p.Prompt != nil {
		return
	}
	if req.System != "" {
		p.Prompt = append(p.Prompt, PromptPart{"system", d.maskSecrets(req.System)})
	}
	for _, m := range req.Messages {
		p.Prompt = append(p.Prompt, PromptPart{string(m.Role), d.maskSecrets(m.Content)})
	}
	if e, _ := d.findStub(task); e == nil || e.output == nil {
		p.MadeUp = made
		d.markWrittenMadeUp(task)
	}
}

// findStep returns the latest step of a visit, or nil before its start event.
func (d *dryRun) findStep(node string, visit int) *Planned {
	for _, p := range slices.Backward(d.steps) {
		if p.Node == node && p.Visit == visit {
			return p
		}
	}
	return nil
}

// findNode returns the node of a task in its own graph.
func findNode(task *runner.Task) *spec.Node {
	return task.Graph.Node(task.Node[strings.LastIndexByte(task.Node, '/')+1:])
}

// markWrittenMadeUp marks all keys that a node writes as made up.
func (d *dryRun) markWrittenMadeUp(task *runner.Task) {
	if n := findNode(task); n != nil {
		for _, key := range n.Writes.Keys {
			d.madeUp[key.Value] = true
		}
		for _, w := range n.Writes.Exprs {
			d.madeUp[w.Name.Value] = true
		}
	}
}

// planNode records what a node would do, and returns a made-up result.
func (d *dryRun) planNode(ctx context.Context, task *runner.Task) (*runner.Reply, error) {
	about, err := node.DescribeEffect(ctx, task)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.findStep(task.Node, task.Visit)
	if p != nil && task.Index <= 0 {
		d.describeNode(p, task, about)
	}
	switch e, problem := d.findStub(task); {
	case problem != "":
		return nil, &runner.Failure{Kind: "failed", Message: problem}
	case e == nil:
	case e.output != nil && (task.Kind == "llm" || task.Kind == "agent"):
		return nil, nil // the made-up model answers with the stub
	default:
		if reply, failure := e.buildReply(); reply != nil || failure != nil {
			return reply, failure
		}
	}
	switch task.Kind {
	case "graph", "llm", "agent", "tools":
		return nil, nil
	}
	out := MakeUpOutput(task.Graph, findNode(task), d.kinds...)
	if task.Kind == stubKind {
		if choices, ok := task.Config["choices"].([]any); ok && len(choices) > 0 {
			out = choices[0]
		}
	}
	d.markWrittenMadeUp(task)
	if p != nil {
		p.MadeUp = out
	}
	return &runner.Reply{Output: out}, nil
}

func (d *dryRun) describeNode(p *Planned, task *runner.Task, about map[string]any) {
	switch task.Kind {
	case "exec":
		argv, _ := about["command"].([]string)
		p.Command = mapSlice(argv, d.maskSecrets)
		p.Dir, _ = about["dir"].(string)
		p.Env, _ = about["env"].(map[string]any)
		stdin, _ := about["stdin"].(string)
		p.Stdin = d.maskSecrets(stdin)
	case "http":
		p.Request = about
		for _, key := range []string{"url", "body"} {
			if text, ok := about[key].(string); ok {
				about[key] = d.maskSecrets(text)
			}
		}
	case "tool":
		p.Request = map[string]any{"tool": task.Config["tool"], "args": task.Config["args"]}
	case stubKind:
		prompt, _ := task.Config["prompt"].(string)
		p.Question = d.maskSecrets(prompt)
	}
}

func (d *dryRun) maskSecrets(text string) string {
	for _, hidden := range d.hidden {
		text = strings.ReplaceAll(text, hidden, "***")
	}
	return text
}

// Event records the steps of the run.
func (d *dryRun) Event(e *runner.Event) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if e.Type == runner.NodeStarted {
		kind := e.Kind
		if kind == stubKind {
			kind = "human"
		}
		d.steps = append(d.steps, &Planned{Node: e.Node, Visit: e.Visit, Kind: kind, Next: []string{}})
		return nil
	}
	p := d.findStep(e.Node, e.Visit)
	if p == nil {
		return nil
	}
	switch e.Type {
	case runner.NodeFailed:
		p.Step = e.Step
	case runner.NodeCompleted:
		p.Step = e.Step
		switch p.Kind {
		case "wait":
			p.Waits, p.WaitsMS = e.Duration, e.Duration.Milliseconds()
		case "set":
			p.Writes, _ = e.Output.(map[string]any)
			d.markCopiedMadeUp(p)
		}
	case runner.EdgesResolved:
		p.Next = slices.Clone(e.Next)
		for _, c := range e.Candidates {
			if isTrue, isFalse := guardOutcome(&c); (isTrue || isFalse) && d.isMadeUp(p, c.When) {
				p.Decided = append(p.Decided, c.When)
			}
		}
	}
	return nil
}

// markCopiedMadeUp marks the keys to which a set node writes made-up values.
func (d *dryRun) markCopiedMadeUp(p *Planned) {
	n := d.graph.Node(p.Node)
	if n == nil {
		return
	}
	for _, f := range n.Field("set").Entries() {
		if d.isMadeUp(p, f.Value.Text.Value) {
			d.madeUp[f.Key.Value] = true
		}
	}
}

// isMadeUp reports whether an expression reads a made-up value.
func (d *dryRun) isMadeUp(p *Planned, text string) bool {
	names := append(sortedNames(d.madeUp), "nodes", "history", "last")
	if fields, _ := p.MadeUp.(map[string]any); p.MadeUp != nil {
		names = append(append(names, "output"), sortedNames(fields)...)
	}
	return slices.ContainsFunc(names, func(name string) bool {
		return regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`).MatchString(text)
	})
}

// Planned is one step of a dry run: what the node would run, send, ask or write.
type Planned struct {
	// Step is the number of the step, or 0 if it was stopped.
	Step  int    `json:"step"`
	Node  string `json:"node"`
	Visit int    `json:"visit"`
	Kind  string `json:"kind"`
	// Command is the argv of an exec node, Stdin its input.
	Command []string       `json:"command,omitempty"`
	Dir     string         `json:"dir,omitempty"`
	Env     map[string]any `json:"env,omitempty"`
	Stdin   string         `json:"stdin,omitempty"`
	// Request is the request of an http node, or the call of a tool.
	Request map[string]any `json:"request,omitempty"`
	// Prompt holds the messages of a model node, the system prompt first.
	Prompt []PromptPart `json:"prompt,omitempty"`
	// Question is the prompt for a person.
	Question string `json:"question,omitempty"`
	// Waits is the duration of a wait, WaitsMS the same in milliseconds.
	Waits   time.Duration `json:"-"`
	WaitsMS int64         `json:"waits_ms,omitempty"`
	// Writes holds the state keys that the step changes.
	Writes map[string]any `json:"writes,omitempty"`
	// MadeUp is the made-up output, or nil if the node really ran.
	MadeUp any `json:"made_up,omitempty"`
	// Next lists the next nodes, Decided the conditions that made-up values decided.
	Next    []string `json:"next"`
	Decided []string `json:"decided,omitempty"`
}

// PromptPart is a message to a model.
type PromptPart struct {
	Role string `json:"role"`
	Text string `json:"text"`
}

// Text writes a step for a person.
func (p *Planned) Text() string {
	var b strings.Builder
	head := p.Node
	if p.Visit > 1 {
		head += fmt.Sprintf(" #%d", p.Visit)
	}
	number := "   "
	if p.Step > 0 {
		number = fmt.Sprintf("[%d]", p.Step)
	}
	fmt.Fprintf(&b, "%s  %s  %s\n", number, head, p.Kind)
	line := func(name, text string) {
		for i, part := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
			if i > 0 {
				name = ""
			}
			fmt.Fprintf(&b, "     %-9s %s\n", name, part)
		}
	}
	if p.Command != nil {
		line("command", yamlFlow(p.Command))
		line("stdin", p.Stdin)
	}
	if p.Request != nil {
		line("request", yamlFlow(p.Request))
	}
	for _, part := range p.Prompt {
		line(part.Role, part.Text)
	}
	if p.Question != "" {
		line("asks", p.Question)
	}
	if p.Kind == "wait" {
		line("waits", eval.DurationText(p.Waits))
	}
	if len(p.Writes) > 0 {
		line("writes", yamlFlow(p.Writes))
	}
	if p.MadeUp != nil {
		line("made up", yamlFlow(p.MadeUp))
	}
	for _, when := range p.Decided {
		line("decided", "by a made-up value: "+strings.Join(strings.Fields(when), " "))
	}
	if len(p.Next) > 0 {
		line("next", strings.Join(p.Next, ", "))
	}
	return b.String()
}

// ReadStubs reads a file with a map of stubs by node under the key stubs.
func ReadStubs(name string, src []byte) (*spec.Value, spec.Diagnostics) {
	stub := stubKey(2)
	key := []spec.Key{{Name: "stubs", Type: spec.TypeMap, Elem: &stub, Required: true}}
	what := "a file of stubs is a map of them by node, under the key stubs"
	root, found := spec.Read(name, src, what, key)
	return root.Get("stubs"), found
}

// NeedsStub reports whether a case must give the result of a node.
func NeedsStub(n *spec.Node) bool {
	return !slices.Contains([]string{"set", "pass", "wait", "fail", "graph", "human", "tool", "tools"}, n.Kind.Value)
}

// MakeUpOutput returns an output that fits a node's schema, its state keys and its readers' expressions.
func MakeUpOutput(g *spec.Graph, n *spec.Node, kinds ...spec.Kind) any {
	if w, err := explore.NewWorld(g, kinds); err == nil {
		return w.UsualResult(n.Index)
	}
	value, _ := explore.Sample(n.Output)
	return value
}
