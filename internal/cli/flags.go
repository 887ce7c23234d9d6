// Types of flags, completion, errors about the command line, and -o.

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/graphrun/graphrun/internal/bounded"
	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/view"
	"github.com/graphrun/graphrun/spec"
)

// enum is a flag value from a list of words.
type enum struct {
	value   string
	allowed []string
}

func newEnum(value string, allowed ...string) enum { return enum{value: value, allowed: allowed} }

func (e *enum) String() string { return e.value }

func (e *enum) Set(s string) error {
	e.value = s
	return checkAllowed(s, e.allowed)
}

// Type returns the allowed words, which help shows.
func (e *enum) Type() string { return strings.Join(e.allowed, "|") }

func checkAllowed(word string, allowed []string) error {
	if slices.Contains(allowed, word) {
		return nil
	}
	return fmt.Errorf("%q is not allowed%s (allowed: %s)", word, suggest.DidYouMean(word, allowed), strings.Join(allowed, ", "))
}

// addEnumFlag adds an enum flag and the completion of its words.
func addEnumFlag(cmd *cobra.Command, flags *pflag.FlagSet, e *enum, name, short, help string) {
	flags.VarP(e, name, short, help)
	completeFlag(cmd, name, fixedCandidates(e.allowed...))
}

// enumList is a flag value of comma-separated words from a list.
type enumList struct {
	values  []string
	allowed []string
}

func (e *enumList) String() string { return strings.Join(e.values, ",") }
func (e *enumList) Type() string   { return "list" }

func (e *enumList) Set(s string) error {
	for word := range strings.SplitSeq(s, ",") {
		word = strings.TrimSpace(word)
		if err := checkAllowed(word, e.allowed); err != nil {
			return err
		}
		e.values = append(e.values, word)
	}
	return nil
}

// addEnumListFlag adds an enumList flag and the completion of its words.
func addEnumListFlag(cmd *cobra.Command, e *enumList, allowed []string, name, help string) {
	e.allowed = allowed
	cmd.Flags().Var(e, name, help)
	completeFlag(cmd, name, fixedCandidates(allowed...))
}

// repeated reads the values of a flag that may be repeated. Its errors begin with the value.
type repeated func(value string) error

func (repeated) String() string       { return "" } // the default in help
func (repeated) Type() string         { return "stringArray" }
func (r repeated) Set(s string) error { return r(s) }

// newPairFlag returns a flag that takes KEY=VALUE and calls add. want describes it in messages.
func newPairFlag(want string, add func(key, value string)) repeated {
	return func(text string) error {
		key, value, ok := strings.Cut(text, "=")
		if !ok || key == "" {
			return fmt.Errorf("%q: want %s", text, want)
		}
		add(key, value)
		return nil
	}
}

// addLabelFlag adds --label, which fills a map.
func addLabelFlag(cmd *cobra.Command, labels *map[string]string, help string) {
	*labels = map[string]string{}
	cmd.Flags().Var(newPairFlag("key=value", func(key, value string) { (*labels)[key] = value }), "label", help)
}

// age is a duration that may be given in days.
type age time.Duration

func (d *age) String() string { return time.Duration(*d).String() }
func (d *age) Type() string   { return "duration" }

// Set reads a duration such as 90m, 36h or 30d.
func (d *age) Set(s string) error {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		*d = age(time.Duration(n) * 24 * time.Hour)
		return err
	}
	v, err := time.ParseDuration(s)
	if *d = age(v); v < 0 {
		return strconv.ErrRange
	}
	return err
}

// addOutput adds -o. The first format is the default. Without formats it offers text and json.
func addOutput(cmd *cobra.Command, formats ...string) *cobra.Command {
	help := "output format"
	switch len(formats) {
	case 0:
		formats = []string{"text", "json"}
	case 1:
		help += "; there is only one"
	}
	e := newEnum(formats[0], slices.Sorted(slices.Values(formats))...)
	addEnumFlag(cmd, cmd.Flags(), &e, "output", "o", help)
	return cmd
}

func outputFormat(cmd *cobra.Command) string { return cmd.Flag("output").Value.String() }

// printValue prints a result as JSON with -o json, and as text otherwise.
func (a *app) printValue(cmd *cobra.Command, v any, text string) error {
	if outputFormat(cmd) == "json" {
		return writeJSON(a.Stdout, v, a.StdoutTerminal)
	}
	_, err := io.WriteString(a.Stdout, text)
	return err
}

// printIndented is like printValue, but always indents JSON.
func (a *app) printIndented(cmd *cobra.Command, v any, text string) error {
	if outputFormat(cmd) == "json" {
		return writeJSON(a.Stdout, v, true)
	}
	return a.printValue(cmd, v, text)
}

// printRemark prints a line on stderr, except with -o json.
func (a *app) printRemark(cmd *cobra.Command, line string) {
	if outputFormat(cmd) != "json" {
		fmt.Fprintln(a.Stderr, line)
	}
}

func joinLines(lines []string) string {
	return strings.Join(append(slices.Clip(lines), ""), "\n")
}

// printTable prints a result as a table, or a remark if it has no rows.
func (a *app) printTable(cmd *cobra.Command, v any, none string, rows [][]string) error {
	if len(rows) == 1 { // the head
		a.printRemark(cmd, none)
		rows = nil
	}
	return a.printValue(cmd, v, formatTable(rows))
}

// mapSlice returns the results of a function for the items of a list.
func mapSlice[T, U any](list []T, part func(T) U) []U {
	out := make([]U, len(list))
	for i, item := range list {
		out[i] = part(item)
	}
	return out
}

func formatTable(rows [][]string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush() // a strings.Builder never fails
	return b.String()
}

// writeJSON prints a value as JSON. It does not escape characters such as <.
func writeJSON(w io.Writer, v any, indent bool) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	if indent {
		enc.SetIndent("", "  ")
	}
	return enc.Encode(v)
}

// requireArgs checks the number of arguments. what describes them in the message. A negative
// most allows any number.
func requireArgs(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && (most < 0 || len(args) <= most) {
			return nil
		}
		return usagef("%q takes %s, got %d arguments; see %s --help", cmd.CommandPath(), what, len(args), cmd.CommandPath())
	}
}

// firstArgument returns the first argument, or absent without one.
func firstArgument(args []string, absent string) string {
	if len(args) == 0 {
		return absent
	}
	return args[0]
}

func requireFlowArg(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("%q needs the path of a graph file; see %s --help", cmd.CommandPath(), cmd.CommandPath())
	}
	return requireArgs(1, 1, "one graph file")(cmd, args)
}

func requireRunArg(cmd *cobra.Command, args []string) error {
	return requireArgs(1, 1, "the id of one run (last is the latest one, graphrun runs list shows all)")(cmd, args)
}

// rejectArgs refuses arguments and suggests commands.
func rejectArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	names := listSubcommands(cmd)
	if len(names) == 0 {
		return usagef("%q takes no argument, got %q", cmd.CommandPath(), args[0])
	}
	of, hint := "", suggestCommand(cmd, args[0])
	if cmd.HasParent() {
		of = fmt.Sprintf(" of %q", cmd.CommandPath())
	}
	switch {
	case hint != "":
		return usagef("unknown command %q%s; did you mean %q?", args[0], of, hint)
	case !cmd.HasParent():
		return usagef("unknown command %q; graphrun --help lists the commands", args[0])
	}
	return usagef("unknown command %q%s (commands: %s)", args[0], of, strings.Join(names, ", "))
}

func listSubcommands(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			names = append(names, c.Name())
		}
	}
	return names
}

// suggestCommand returns the command that the user may have meant, or "".
func suggestCommand(cmd *cobra.Command, word string) string {
	if near := suggest.Closest(word, listSubcommands(cmd)); near != "" {
		return near
	}
	if name, isOwn := strings.CutPrefix(synonyms[word], cmd.Name()+" "); isOwn {
		return name
	} else if cmd.HasParent() {
		return ""
	}
	if _, err := os.Stat(word); err == nil {
		return "run " + word
	}
	return synonyms[word]
}

// synonyms maps names that other tools use to commands.
var synonyms = map[string]string{
	"start": "run", "exec": "run", "continue": "resume", "retry": "resume", "check": "validate", "verify": "validate", "fix": "validate --fix",
	"format": "fmt", "ui": "serve", "web": "serve", "draw": "render", "graph": "render", "new": "init", "create": "init",
	"list": "runs list", "ls": "runs list", "ps": "runs list", "history": "runs list", "show": "runs show", "status": "runs show",
	"cancel": "runs cancel", "stop": "runs cancel", "pending": "runs pending", "approve": "answer", "plan": "bound",
}

// showHelp shows help. For an unknown subcommand, cobra would silently show the parent's help.
func (a *app) showHelp(cmd *cobra.Command, show func(*cobra.Command, []string)) {
	if args := cmd.Flags().Args(); len(args) > 0 && len(listSubcommands(cmd)) > 0 {
		a.helpError = rejectArgs(cmd, args)
		return
	}
	show(cmd, nil)
}

// describeFlagError rewrites an error of pflag as a message with a suggestion.
func describeFlagError(cmd *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		return describeUnknownFlag(cmd, unknown)
	}
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		f := missing.GetFlag()
		if want := wantedValues[f.Value.Type()]; want != "" {
			return usagef("--%s needs a value: %s", f.Name, want)
		}
		return usagef("--%s needs a value; see %s --help", f.Name, cmd.CommandPath())
	}
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		f := bad.GetFlag()
		if f.Value.Type() == "stringArray" {
			return usagef("--%s %w", f.Name, bad.Unwrap()) // see repeated
		}
		return usagef("--%s: %w", f.Name, describeBadValue(f, bad.GetValue(), bad.Unwrap()))
	}
	return asUsageError(err)
}

func describeUnknownFlag(cmd *cobra.Command, err *pflag.NotExistError) error {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	word := err.GetSpecifiedName()
	shown := "--" + word
	if short := err.GetSpecifiedShortnames(); short != "" {
		shown, word = "-"+word, ""
		if len(short) > 1 { // -max-steps
			shown, word = "-"+short, short
		}
	}
	near := suggest.Closest(word, names)
	if slices.Contains(names, word) {
		near = word
	}
	if near != "" {
		return usagef("unknown flag %q; did you mean %q?", shown, "--"+near)
	}
	return usagef("unknown flag %q; see %s --help", shown, cmd.CommandPath())
}

// wantedValues describes the values that flags of a type accept.
var wantedValues = map[string]string{
	"int": "a whole number, such as 20", "float64": "a number, such as 0.5", "bool": "true or false",
	"duration": "a duration, such as 90s, 10m or 1h30m",
}

// describeBadValue returns an error that says which values a flag accepts.
func describeBadValue(f *pflag.Flag, value string, err error) error {
	if want := wantedValues[f.Value.Type()]; want != "" {
		return fmt.Errorf("%q is not %s", value, want)
	}
	return err // the other types of this package have their own messages
}

// checkName returns an error unless the name is known. format is its message, with %q for the name.
func checkName(format, name, plural string, known []string) error {
	known = slices.Compact(slices.Sorted(slices.Values(known)))
	if slices.Contains(known, name) {
		return nil
	}
	if near := suggest.Closest(name, known); near != "" {
		return fmt.Errorf(format+"; did you mean %q?", name, near)
	}
	return fmt.Errorf(format+" (%s: %s)", name, plural, strings.Join(known, ", "))
}

const noFiles = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder

// candidates returns the words that complete an argument or the value of a flag.
type candidates func(cmd *cobra.Command, args []string) []string

// complete returns the candidates in order. The shell adds no space if one of them ends in "=".
func (list candidates) complete(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	words, directive := list(cmd, args), noFiles
	for _, word := range words {
		if name, _, _ := strings.Cut(word, "\t"); strings.HasSuffix(name, "=") {
			directive |= cobra.ShellCompDirectiveNoSpace
		}
	}
	return words, directive
}

// completeByPosition returns a completion with different candidates for each argument.
func completeByPosition(at ...candidates) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(at) {
			return nil, noFiles
		}
		return at[len(args)].complete(cmd, args, word)
	}
}

// fixedCandidates returns the same words anywhere.
func fixedCandidates(words ...string) candidates {
	return func(*cobra.Command, []string) []string { return words }
}

// completeFlag sets how the values of a flag are completed.
func completeFlag(cmd *cobra.Command, flag string, list candidates) {
	if err := cmd.RegisterFlagCompletionFunc(flag, list.complete); err != nil {
		panic(err) // a flag that does not exist or has a completion already
	}
}

// disableFileCompletion keeps the shell from completing file names for flags that take none.
func disableFileCompletion(cmd *cobra.Command) {
	files := []string{"FILE", "FOLDER", "PATH of", "@file", "folder"}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if _, has := cmd.GetFlagCompletionFunc(f.Name); !has && !slices.ContainsFunc(files, func(s string) bool { return strings.Contains(f.Usage, s) }) {
			completeFlag(cmd, f.Name, fixedCandidates())
		}
	})
}

// completeFlow completes the path of a graph file.
func completeFlow(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, noFiles
	}
	return []string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt
}

var completeFiles = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)

// graphOf returns the graph that a command line names, or an empty one.
type graphOf func(cmd *cobra.Command, args []string) *spec.Graph

// parseNamedFlow reads the graph file that the first argument names.
func parseNamedFlow(_ *cobra.Command, args []string) *spec.Graph {
	if len(args) == 0 || args[0] == "-" {
		return &spec.Graph{}
	}
	src, _ := bounded.ReadFile(args[0], bounded.Text) // nothing on an error
	g, _ := spec.Parse(args[0], src, spec.Options{})  // a file with mistakes has nodes too
	return g
}

// findNamedRun finds the run that the first argument names. It returns nil if it can't be read.
func (a *app) findNamedRun(cmd *cobra.Command, args []string) *recordedRun {
	if len(args) == 0 || a.loadSettings(cmd, nil) != nil {
		return nil
	}
	r, err := a.openRecordedRun(args[0])
	if err != nil {
		return nil
	}
	return r
}

// parseNamedRun returns the graph of the run that the first argument names.
func (a *app) parseNamedRun(cmd *cobra.Command, args []string) *spec.Graph {
	if r := a.findNamedRun(cmd, args); r != nil {
		return parseRecordedGraph(&r.record)
	}
	return &spec.Graph{}
}

// loadNamedResult returns the result of the run that the first argument names, empty if it can't be read.
func (a *app) loadNamedResult(cmd *cobra.Command, args []string) *runner.Result {
	if r := a.findNamedRun(cmd, args); r != nil {
		if result, err := r.runner.Show(r.record.ID, runner.Options{}); err == nil {
			return result
		}
	}
	return &runner.Result{}
}

// listNodes returns the nodes of a kind ("" for all), each with a suffix.
func listNodes(g *spec.Graph, kind, end string) []string {
	var out []string
	for _, n := range g.Nodes {
		if kind == "" || n.Kind.Value == kind {
			out = append(out, n.ID.Value+end)
		}
	}
	return out
}

// nodeCandidates returns the nodes of a graph; see listNodes.
func nodeCandidates(of graphOf, kind, end string) candidates {
	return func(cmd *cobra.Command, args []string) []string { return listNodes(of(cmd, args), kind, end) }
}

// keyCandidates returns the state keys of a graph, for key=value.
func keyCandidates(of graphOf) candidates {
	return func(cmd *cobra.Command, args []string) []string {
		return mapSlice(of(cmd, args).State, func(key *spec.StateKey) string { return key.Name.Value + "=" })
	}
}

// completeFlowNodes completes the path of a graph file, then its nodes.
func completeFlowNodes(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return completeFlow(cmd, args, word)
	}
	return nodeCandidates(parseNamedFlow, "", "").complete(cmd, args, word)
}

// openStoreForCompletion opens the store for completion. It returns nil if it can't be read.
func (a *app) openStoreForCompletion(cmd *cobra.Command) store.Store {
	if a.loadSettings(cmd, nil) != nil {
		return nil
	}
	s, _ := a.readStore()
	return s
}

// collectFromRuns returns the words that wordOf finds for the latest runs, without duplicates and "".
func (a *app) collectFromRuns(wordOf func(*store.RunSummary) string) candidates {
	return func(cmd *cobra.Command, _ []string) (out []string) {
		s := a.openStoreForCompletion(cmd)
		if s == nil {
			return nil
		}
		runs, _ := s.List(store.RunFilter{Limit: 200}) // none on an error
		for i := range runs {
			if word := wordOf(&runs[i]); word != "" && !slices.Contains(out, word) {
				out = append(out, word)
			}
		}
		return out
	}
}

func (a *app) listRunIDs(cmd *cobra.Command, args []string) []string {
	return a.collectFromRuns(func(r *store.RunSummary) string {
		return cobra.CompletionWithDesc(r.ID, r.Graph+", "+string(r.EffectiveStatus()))
	})(cmd, args)
}

// listSteps returns the steps of the run that the first argument names, each with its node.
func (a *app) listSteps(cmd *cobra.Command, args []string) (out []string) {
	for i, node := range a.loadNamedResult(cmd, args).Path {
		out = append(out, cobra.CompletionWithDesc(strconv.Itoa(i+1), node))
	}
	return out
}

// listQuestions returns the open questions of the run that the first argument names.
func (a *app) listQuestions(cmd *cobra.Command, args []string) []string {
	return mapSlice(a.loadNamedResult(cmd, args).Pending, func(p view.Pending) string {
		return cobra.CompletionWithDesc(p.Target()+"=", p.Prompt)
	})
}

func (a *app) listSessionIDs(cmd *cobra.Command, _ []string) []string {
	s := a.openStoreForCompletion(cmd)
	if s == nil {
		return nil
	}
	sessions, _ := s.Sessions() // none on an error
	return mapSlice(sessions, func(s store.Session) string { return cobra.CompletionWithDesc(s.ID, "last run of "+s.Graph) })
}
