// Facts about a flow (bound, diff, tools) and about graphrun (explain, schema, models, version).

package cli

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/flowtest"
	"github.com/graphrun/graphrun/internal/bound"
	"github.com/graphrun/graphrun/internal/flowdiff"
	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/internal/runview"
	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/lint"
	"github.com/graphrun/graphrun/model/scripted"
	"github.com/graphrun/graphrun/node"
	"github.com/graphrun/graphrun/render"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
	"github.com/graphrun/graphrun/tool"
)

type boundFlags struct {
	maxSteps int
	maxCalls int
	maxUSD   float64
}

func newBoundCommand(a *app) *cobra.Command {
	var f boundFlags
	cmd := &cobra.Command{
		Use:  "bound FLOW",
		RunE: func(cmd *cobra.Command, args []string) error { return a.printBound(cmd, &f, args[0]) },
	}
	flags := cmd.Flags()
	addOutput(cmd)
	flags.IntVar(&f.maxSteps, "max-steps", 0, "fail if a run can take more steps; 0: no limit")
	flags.IntVar(&f.maxCalls, "max-llm-calls", 0, "fail if a run can make more model calls; 0: no limit")
	flags.Float64Var(&f.maxUSD, "max-usd", 0, "fail if a run can cost more US dollars; 0: no limit")
	return cmd
}

func (a *app) printBound(cmd *cobra.Command, f *boundFlags, path string) error {
	g, err := a.loadFlow(path)
	if err != nil {
		return err
	}
	b, ok := bound.Of(g, bound.Options{Load: spec.NewLoader(path), Price: inspect.BoundCost})
	if !ok {
		return usagef("%s: no run of this graph can complete, so there is nothing to bound", path)
	}
	r := inspect.NewBound(g, b, lint.Loops(g, lint.Options{Load: spec.NewLoader(path)}), b.FindRuns())
	for _, c := range []struct {
		flag string
		most float64
		have float64
	}{
		{"--max-steps", float64(f.maxSteps), b.Steps.Max},
		{"--max-llm-calls", float64(f.maxCalls), b.LLMCalls.Max},
		{"--max-usd", f.maxUSD, b.CostUSD.Max},
	} {
		if c.most > 0 && c.have > c.most {
			r.Exceeded = append(r.Exceeded, fmt.Sprintf("%s %s: a run can take %s", c.flag, runview.FormatNumber(c.most), runview.FormatNumber(c.have)))
		}
	}
	if err := a.printIndented(cmd, r, runview.FormatBound(&r)); err != nil || len(r.Exceeded) == 0 {
		return err
	}
	for _, line := range r.Exceeded {
		a.printNote("above " + line)
	}
	return exitWith(exitFailed)
}

func newDiffCommand(a *app) *cobra.Command {
	return addOutput(&cobra.Command{
		Use:               "diff OLD NEW",
		Args:              requireArgs(2, 2, "two graph files"),
		ValidArgsFunction: completeFiles,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.printDiff(cmd, args[0], args[1]) },
	})
}

type diffReport struct {
	Breaking bool              `json:"breaking"`
	Changes  []flowdiff.Change `json:"changes"`
}

func (a *app) printDiff(cmd *cobra.Command, before, after string) error {
	if before == "-" && after == "-" {
		return usagef("stdin holds one graph; name a file for the other")
	}
	old, err := a.loadFlow(before)
	if err != nil {
		return err
	}
	now, err := a.loadFlow(after)
	if err != nil {
		return err
	}
	r := diffReport{Changes: flowdiff.Compare(old, now)}
	if r.Changes == nil {
		r.Changes = []flowdiff.Change{}
	}
	breaking := 0
	var b strings.Builder
	for _, c := range r.Changes {
		mark := "  "
		if c.Breaking {
			breaking++
			mark = "! "
		}
		if c.Detail != "" {
			c.Change += ": " + c.Detail
		}
		b.WriteString(mark + c.Kind + " " + c.Name + " " + c.Change + "\n")
	}
	r.Breaking = breaking > 0
	if err := a.printIndented(cmd, r, b.String()); err != nil {
		return err
	}
	switch others := len(r.Changes) - breaking; {
	case r.Breaking:
		a.printRemark(cmd, fmt.Sprintf("%s breaking callers (!), %s", eval.Count(breaking, "change"), eval.Count(others, "other")))
		return exitWith(exitFailed)
	case others == 0:
		a.printRemark(cmd, "no changes")
	default:
		a.printRemark(cmd, eval.Count(others, "change")+", none breaks callers")
	}
	return nil
}

func newToolsCommand(a *app) *cobra.Command {
	return addOutput(&cobra.Command{
		Use:     "tools FLOW",
		PreRunE: skipSettings,
		RunE:    func(cmd *cobra.Command, args []string) error { return a.printTools(cmd, args[0]) },
	})
}

func (a *app) printTools(cmd *cobra.Command, path string) error {
	g, err := a.loadFlow(path)
	if err != nil {
		return err
	}
	r, err := a.newRunner(&store.Memory{}, node.Options{})
	if err != nil {
		return err
	}
	flow, err := r.Prepare(g)
	if err != nil {
		return err
	}
	declared, err := flow.Tools()
	if err != nil {
		return usagef("%s: %w", path, err)
	}
	var withheld []string
	for _, secret := range g.Secrets {
		if secret.Env.IsSet() {
			withheld = append(withheld, secret.Env.Value)
		}
	}
	registry, err := tool.New(declared, tool.Options{Dir: filepath.Dir(path), Withheld: withheld})
	if err != nil {
		return usagef("%s: %w", path, err)
	}
	defer func() { _ = registry.Close() }()
	list, failed := inspect.ListTools(cmd.Context(), registry, func(message string) { a.printNote(terminal.Line(message)) })
	var b strings.Builder
	for _, t := range list {
		b.WriteString(formatTool(&t))
	}
	if err := a.printIndented(cmd, list, b.String()); err != nil || !failed {
		return err
	}
	return exitWith(exitFailed)
}

func formatTool(t *inspect.ListedTool) string {
	line := t.Name
	if t.Kind == "resource" || t.Kind == "prompt" {
		line += "  (" + t.Kind + ")"
	}
	switch text, _, more := strings.Cut(strings.TrimSpace(t.Description), "\n"); {
	case t.Error != "":
		line += ": " + terminal.Line(t.Error)
	case more:
		line += "  " + terminal.Line(text) + " …"
	case text != "":
		line += "  " + terminal.Line(text)
	}
	if t.Approve != "" {
		line += "  (a person approves: " + terminal.Line(t.Approve) + ")"
	}
	return line + "\n"
}

func newExplainCommand(a *app) *cobra.Command {
	return addOutput(&cobra.Command{
		Use:               "explain [RULE|KEY|KIND|ERROR|exit-codes]",
		Args:              cobra.MaximumNArgs(1),
		PreRunE:           skipSettings,
		ValidArgsFunction: completeByPosition(func(*cobra.Command, []string) []string { return listExplainable() }),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.listRules(cmd)
			}
			v, text := explainName(args[0])
			if v == nil {
				return usagef("no such rule, key, kind, error or exit code: %q%s", args[0], suggest.DidYouMean(args[0], listExplainable()))
			}
			return a.printIndented(cmd, v, text)
		},
	})
}

func (a *app) listRules(cmd *cobra.Command) error {
	rules := lint.Rules()
	var b strings.Builder
	for _, r := range rules {
		severity := r.Severity.String()
		if r.Off {
			severity = "off"
		}
		fmt.Fprintf(&b, "%-24s %-8s %s\n", r.Name, severity, r.Summary)
	}
	return a.printIndented(cmd, rules, b.String())
}

// explainName returns the meaning of a name, as JSON and as text, or nil if it is unknown.
func explainName(name string) (v any, text string) {
	if r, ok := lint.FindRule(name); ok {
		return r, explainRule(&r)
	}
	var b strings.Builder
	failures := slices.DeleteFunc(spec.Failures(), func(f spec.FailureKind) bool { return name != topicFailures && name != f.Name })
	for _, f := range failures {
		startParagraph(&b)
		fmt.Fprintf(&b, "error kind %s\n", f.Name)
		writeWrapped(&b, 2, 2, f.Doc)
		writeWrapped(&b, 2, 2, f.Help)
		v = failures
	}
	topics := findTopics(name)
	for i := range topics {
		startParagraph(&b)
		writeTopic(&b, &topics[i])
		v = topics
	}
	if v != nil {
		return v, b.String()
	}
	codes := slices.DeleteFunc(slices.Clone(exitCodes), func(e exitCode) bool { return name != topicExitCodes && name != strconv.Itoa(e.Code) })
	for _, c := range codes {
		writeWrapped(&b, 0, 5, fmt.Sprintf("%-5d%s", c.Code, c.Doc))
		v = codes
	}
	for _, s := range inspect.StatusTerms {
		if v == nil && s.Name == name {
			writeWrapped(&b, 0, 2, s.Name+"  "+s.Doc)
			v = s
		}
	}
	return v, b.String()
}

// startParagraph writes an empty line, except at the start of a text.
func startParagraph(b *strings.Builder) {
	if b.Len() > 0 {
		b.WriteString("\n")
	}
}

func explainRule(r *lint.Rule) string {
	severity := r.Severity.String()
	if r.Off {
		severity = fmt.Sprintf("%s, off by default: --rule +%s or graphrun.yaml turns it on", severity, r.Name)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s)\n%s\n\n", r.Name, severity, r.Summary)
	writeWrapped(&b, 0, 0, strings.Join(strings.Fields(r.Doc), " "))
	fmt.Fprintf(&b, "\nbad:\n\n%s\ngood:\n\n%s", indentLines(r.Bad), indentLines(r.Good))
	for _, path := range slices.Sorted(maps.Keys(r.Files)) {
		fmt.Fprintf(&b, "\n%s:\n\n%s", path, indentLines(r.Files[path]))
	}
	return b.String()
}

// listExplainable returns the names that explain accepts, each once.
func listExplainable() []string {
	names := append([]string{topicExitCodes, topicFailures}, spec.FailureKinds()...)
	names = append(names, lint.RuleNames()...)
	names = append(names, mapSlice(spec.Topics(spec.Options{}), func(t spec.Topic) string { return t.Name })...)
	names = append(names, mapSlice(inspect.StatusTerms, func(s inspect.StatusTerm) string { return s.Name })...)
	slices.Sort(names)
	return slices.Compact(names)
}

func indentLines(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
}

const explainColumns = 88

// findTopics returns the kinds and keys of a name. "timeout" finds every key of that name,
// "limits.timeout" or "exec.command" only one.
func findTopics(name string) []spec.Topic {
	var out []spec.Topic
	for _, t := range spec.Topics(spec.Options{}) {
		if name == t.Name || name == t.Path || strings.HasSuffix("."+simplifyPath(&t), "."+name) {
			out = append(out, t)
		}
	}
	return out
}

// simplifyPath returns the path of a key without the parts for names and list elements. In the
// path of a kind's key, the kind replaces the node.
func simplifyPath(t *spec.Topic) string {
	path := strings.NewReplacer(".*", "", "[]", "").Replace(t.Path)
	if t.Kind != "" {
		path = strings.Replace(path, "nodes", t.Kind, 1)
	}
	return path
}

func writeTopic(b *strings.Builder, t *spec.Topic) {
	switch {
	case t.Path == "":
		fmt.Fprintf(b, "kind %s\n", t.Name)
	case t.Kind != "":
		fmt.Fprintf(b, "%s (kind %s): %s\n", t.Path, t.Kind, t.Value)
	default:
		fmt.Fprintf(b, "%s: %s\n", t.Path, t.Value)
	}
	writeWrapped(b, 2, 2, t.Doc+describeDefault(t))
	if len(t.Keys) == 0 {
		return
	}
	width := 0
	for i := range t.Keys {
		width = max(width, terminal.Width(t.Keys[i].Name))
	}
	b.WriteString("\n")
	for _, k := range t.Keys {
		text := k.Value
		if k.Doc != "" {
			text += ". " + k.Doc
		}
		writeWrapped(b, 2, width+4, terminal.Pad(k.Name, width+2)+text+describeDefault(&k))
	}
	for _, choice := range t.Choices {
		writeWrapped(b, 2, 4, choice)
	}
	if t.Path == "" {
		b.WriteString("\n  and the keys of every node: graphrun explain nodes\n")
	}
}

// describeDefault says that a key is required, or what its default is.
func describeDefault(t *spec.Topic) string {
	switch {
	case t.Required:
		return " (required)"
	case t.Default != "":
		return " (default: " + t.Default + ")"
	}
	return ""
}

// writeWrapped wraps a text: the first line starts at one column, the others at another.
func writeWrapped(b *strings.Builder, first, others int, text string) {
	for _, line := range terminal.Wrap(strings.Repeat(" ", first)+text, explainColumns, others) {
		b.WriteString(line + "\n")
	}
}

// Names of the lists that explain prints.
const (
	topicExitCodes = "exit-codes"
	topicFailures  = "error-kinds"
)

// exitCode is an exit code and what it means.
type exitCode struct {
	Code int    `json:"code"`
	Doc  string `json:"doc"`
}

var exitCodes = []exitCode{
	{exitOK, "The run completed, clean or degraded (with --strict: clean only); validate found no error; the command did what it should."},
	{exitFailed, "The run failed, or was degraded under --strict; tests failed; a replay diverged; or graphrun itself could not continue."},
	{exitUsage, "Wrong usage: an unknown flag, a bad input or answer, no such file or run, a run that another process drives."},
	{exitInvalid, "The file is not valid: nothing ran. With validate --strict, also warnings."},
	{exitStuck, "No edge of the last node fired; graphrun why RUN shows every candidate."},
	{exitLimit, "A limit was hit: steps, visits, time, tokens, cost, size; also on_max_steps: flag."},
	{exitPaused, "The run is paused: for an answer, at a breakpoint, or until a time; graphrun answer or resume continues it."},
	{exitCancelled, "The run was cancelled, by an interrupt or by runs cancel; graphrun resume continues it."},
}

// schemas lists the schemas by the argument that selects them.
var schemas = []struct {
	name, of string
	make     func() any
}{
	{"flow", "graph files", func() any { return spec.Schema(spec.Options{}) }},
	{"test", "test files, which test runs", func() any {
		return spec.SchemaOf("graphrun tests v1", "A test file of a flow, which graphrun test runs.", flowtest.Keys())
	}},
	{"answers", "files with scripted answers", func() any {
		return spec.SchemaOf("graphrun scripted answers", "Answers for model nodes, by scripted/PATH.", scripted.Keys())
	}},
	{"drawing", "what render --format json prints", func() any { return render.Schema() }},
}

func newSchemaCommand(a *app) *cobra.Command {
	var names, described []string
	for _, s := range schemas {
		names, described = append(names, s.name), append(described, s.name+"\t"+s.of)
	}
	return addOutput(&cobra.Command{
		Use:               "schema [" + strings.Join(names, "|") + "]",
		Args:              requireArgs(0, 1, "one name"),
		PreRunE:           skipSettings,
		ValidArgsFunction: completeByPosition(fixedCandidates(described...)),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"flow"}
			}
			i := slices.Index(names, args[0])
			if i < 0 {
				return usagef("no schema %q%s (allowed: %s)", args[0], suggest.DidYouMean(args[0], names), strings.Join(names, ", "))
			}
			return writeJSON(a.Stdout, schemas[i].make(), true)
		},
	}, "json")
}

func newModelsCommand(a *app) *cobra.Command {
	return addOutput(&cobra.Command{
		Use:     "models",
		PreRunE: skipSettings,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.printModels(cmd, inspect.ListModels()) },
	})
}

func (a *app) printModels(cmd *cobra.Command, list []inspect.KnownModel) error {
	rows := [][]string{{"MODEL", "WINDOW", "ANSWER", "INPUT", "CACHED", "OUTPUT", "PROMPTS", "DATE", "SOURCE"}}
	for i, m := range list {
		prompts := "any"
		switch {
		case m.FromTokens != nil:
			prompts = fmt.Sprintf("from %d", *m.FromTokens)
		case m.UpToTokens != nil:
			prompts = fmt.Sprintf("to %d", *m.UpToTokens)
		}
		window, answer := formatTokens(m.Window), formatTokens(m.MaxOutput)
		rows = append(rows, []string{m.Model, window, answer, formatDollars(m.Input), formatDollars(m.CachedInput), formatDollars(m.Output), prompts, m.Date, m.Source})
		if m.UpToTokens != nil && m.Window != nil && *m.Window > *m.UpToTokens && (i+1 == len(list) || list[i+1].Model != m.Model) {
			rows = append(rows, []string{m.Model, window, answer, "?", "?", "?", fmt.Sprintf("from %d", *m.UpToTokens+1), "", ""})
		}
	}
	return a.printIndented(cmd, list, formatTable(rows))
}

func formatTokens(n *int) string {
	if n == nil {
		return "?"
	}
	return strconv.Itoa(*n)
}

func formatDollars(n float64) string { return "$" + strconv.FormatFloat(n, 'f', -1, 64) }

// buildVersion describes the build. Unknown parts are "".
type buildVersion struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`
	Time     string `json:"time"`
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// release is "version,commit,time" of a release. The linker sets it.
var release string

func readBuildVersion() buildVersion {
	v := buildVersion{Version: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	vcs := map[string]string{}
	for _, s := range info.Settings {
		vcs[s.Key] = s.Value
	}
	v.Version = cmp.Or(info.Main.Version, v.Version)
	v.Commit, v.Time, v.Modified = vcs["vcs.revision"], vcs["vcs.time"], vcs["vcs.modified"] == "true"
	if parts := strings.Split(release, ","); len(parts) == 3 {
		v.Version, v.Commit, v.Time, v.Modified = parts[0], parts[1], parts[2], false
	}
	return v
}

func (v buildVersion) String() string {
	s := "graphrun " + v.Version
	if v.Commit != "" {
		s += " (commit " + v.Commit[:min(12, len(v.Commit))]
		if day, _, dated := strings.Cut(v.Time, "T"); dated {
			s += " of " + day
		}
		if v.Modified {
			s += ", modified"
		}
		s += ")"
	}
	return s + " " + v.Go + " " + v.Platform
}

func newVersionCommand(a *app) *cobra.Command {
	return addOutput(&cobra.Command{
		Use:     "version",
		PreRunE: skipSettings,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := readBuildVersion()
			return a.printValue(cmd, v, v.String()+"\n")
		},
	})
}
