// The init, fmt and validate commands: write flows and check them.

package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/flowtest"
	"github.com/graphrun/graphrun/internal/cli/settings"
	"github.com/graphrun/graphrun/internal/fix"
	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/internal/report"
	"github.com/graphrun/graphrun/internal/runview"
	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/internal/templates"
	"github.com/graphrun/graphrun/lint"
	"github.com/graphrun/graphrun/spec"
)

func newInitCommand(a *app) *cobra.Command {
	var dir string
	var list bool
	cmd := &cobra.Command{
		Use:               "init [TEMPLATE]",
		Args:              requireArgs(0, 1, "one template"),
		ValidArgsFunction: completeByPosition(listTemplateNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			if list {
				return a.printTemplates(cmd)
			}
			return a.writeTemplate(cmd, firstArgument(args, "basic"), dir)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&dir, "dir", ".", "folder to write to, created if missing")
	flags.BoolVar(&list, "list", false, "list the templates and write nothing")
	return addOutput(cmd)
}

type template struct {
	Template    string `json:"template"`
	Description string `json:"description"`
}

// listTemplates returns the templates, described by their flows.
func listTemplates() (out []template, err error) {
	for _, name := range templates.Names() {
		files, err := templates.Files(name)
		if err != nil {
			return nil, err
		}
		g, _ := spec.Parse(templates.Flow, files[0].Text, spec.Options{})
		out = append(out, template{name, g.Description.Value})
	}
	return out, nil
}

func (a *app) printTemplates(cmd *cobra.Command) error {
	list, err := listTemplates()
	if err != nil {
		return err
	}
	rows := mapSlice(list, func(t template) []string { return []string{t.Template, t.Description} })
	return a.printValue(cmd, list, formatTable(rows))
}

// writtenTemplate is the JSON of the files that init wrote, the flow first.
type writtenTemplate struct {
	Template string   `json:"template"`
	Files    []string `json:"files"`
}

func (a *app) writeTemplate(cmd *cobra.Command, name, dir string) error {
	files, err := templates.Files(name)
	if err != nil {
		return err
	}
	if files == nil {
		return usagef("no template %q (templates: %s)%s", name, strings.Join(templates.Names(), ", "), suggest.DidYouMean(name, templates.Names()))
	}
	out := writtenTemplate{Template: name}
	for _, file := range files { // all or none
		path := filepath.Join(dir, filepath.FromSlash(file.Name))
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return usagef("%s is there already: nothing was written; --dir names another folder", path)
		}
		out.Files = append(out.Files, path)
	}
	for i, file := range files {
		if err := os.MkdirAll(filepath.Dir(out.Files[i]), 0o755); err != nil {
			return err
		}
		if err := writeNewFile(out.Files[i], file.Text); err != nil {
			return err
		}
	}
	a.printRemark(cmd, "run it with: graphrun run "+runview.QuoteForShell(out.Files[0]))
	return a.printValue(cmd, out, joinLines(out.Files))
}

// writeNewFile writes a file that must not exist.
func writeNewFile(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}

// listTemplateNames returns the templates for completion.
func listTemplateNames(*cobra.Command, []string) []string {
	list, _ := listTemplates() // none on an error
	return mapSlice(list, func(t template) string { return cobra.CompletionWithDesc(t.Template, t.Description) })
}

func newFmtCommand(a *app) *cobra.Command {
	var check, diff bool
	cmd := &cobra.Command{
		Use:               "fmt [PATH...]",
		ValidArgsFunction: completeFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.formatFiles(args, check, diff, outputFormat(cmd) == "json")
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&check, "check", false, "write nothing: list the files that fmt would change, and exit 1 if there are any")
	flags.BoolVar(&diff, "diff", false, "write nothing: show what would change")
	addOutput(cmd)
	cmd.Flag("output").Usage = "output format: json lists every file and whether fmt would change it"
	return cmd
}

// formattedFile is the JSON of a file that fmt has processed.
type formattedFile struct {
	File    string `json:"file"`
	Valid   bool   `json:"valid"`
	Changed bool   `json:"changed"`
	// Unformatted says that formatting would lose a part of the file, so it is unchanged.
	Unformatted bool `json:"unformatted,omitempty"`
}

func (a *app) formatFiles(args []string, check, diff, asJSON bool) error {
	isStdin := slices.Contains(args, "-")
	if isStdin && len(args) > 1 {
		return usagef("fmt - takes no other path")
	}
	sources, err := a.findSources(args, "")
	if err != nil {
		return err
	}
	if !isStdin {
		tests, _, err := a.findFiles(args, flowtest.IsTestFile)
		if err != nil {
			return err
		}
		for _, name := range tests {
			sources = append(sources, source{name: name})
		}
		slices.SortFunc(sources, compareSources)
		sources = slices.CompactFunc(sources, func(a, b source) bool { return a.name == b.name })
	}
	var ends error // the most severe: an invalid file, then one that can't be formatted
	changes, listed := false, []formattedFile{}
	for _, s := range sources {
		changed, err := a.formatSource(s, check, diff, asJSON)
		file := formattedFile{File: s.name, Valid: err == nil, Changed: changed}
		switch {
		case errors.Is(err, spec.ErrUnformattable):
			a.printNote(fmt.Sprintf("%s is unchanged: %v", s.name, err))
			file.Valid, file.Unformatted = true, true
			ends = cmp.Or(ends, exitWith(exitUsage))
		case findExitCode(err) == exitInvalid:
			ends = err
		case err != nil:
			return err
		}
		listed = append(listed, file)
		changes = changes || changed
	}
	if asJSON && !isStdin {
		if err := writeJSON(a.Stdout, map[string]any{"files": listed}, a.StdoutTerminal); err != nil {
			return err
		}
	}
	if check && changes {
		ends = cmp.Or(ends, exitWith(exitFailed))
	}
	return ends
}

// formatSource formats a file in place, or stdin to stdout.
func (a *app) formatSource(s source, check, show, quiet bool) (changed bool, err error) {
	src, err := s.readText()
	if err != nil {
		return false, err
	}
	out, err := a.formatText(s.name, src)
	changed = !bytes.Equal(out, src)
	switch {
	case err != nil:
		return false, err
	case s.src != nil && !check:
		_, err = a.Stdout.Write(out)
	case s.src != nil, !changed, quiet && (check || show): // nothing to write
	case show:
		_, err = a.Stdout.Write(diff.Diff(s.name, src, s.name, out))
	case check:
		_, err = fmt.Fprintln(a.Stdout, s.name)
	default:
		if err := overwriteFile(s.name, out); err != nil {
			return false, asUsageError(err)
		}
		fmt.Fprintf(a.Stderr, "%s formatted\n", s.name)
	}
	return changed, err
}

// formatText returns the canonical form of a valid text.
func (a *app) formatText(name string, src []byte) ([]byte, error) {
	var keys []spec.Key
	if isTestText(src) {
		keys = flowtest.Keys()
		if _, found := spec.Read(name, src, "a test file is a map", keys); found.HasErrors() {
			return nil, a.reportInvalid(found)
		}
	} else if c := inspect.Check(name, src, false); len(c.Broken) > 0 {
		return nil, a.reportInvalid(c.Broken)
	}
	out, err := spec.Format(name, src, keys)
	var invalid *spec.InvalidError
	if errors.As(err, &invalid) {
		return nil, a.reportInvalid(invalid.Findings)
	}
	return out, err
}

func isTestText(src []byte) bool {
	return bytes.HasPrefix(src, []byte("graphrun-test:")) || bytes.Contains(src, []byte("\ngraphrun-test:"))
}

type validateFlags struct {
	format          enum
	strict          bool
	quiet           bool
	off             map[string]bool // by rule, from --rule
	fix             bool
	diff            bool
	explainPolicies bool
	stdinName       string
	baseline        string
	writeBaseline   string
}

func newValidateCommand(a *app) *cobra.Command {
	f := validateFlags{off: map[string]bool{}}
	f.format = newEnum("text", report.FormatNames()...)
	cmd := &cobra.Command{
		Use:               "validate [PATH...]",
		Aliases:           []string{"lint"},
		ValidArgsFunction: completeFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			if os.Getenv("GITHUB_ACTIONS") == "true" && !cmd.Flags().Changed("format") && !cmd.Flags().Changed("output") {
				f.format.value = "github"
			}
			return a.validateFiles(&f, args)
		},
	}
	flags := cmd.Flags()
	addEnumFlag(cmd, flags, &f.format, "format", "", "report format")
	addEnumFlag(cmd, flags, &f.format, "output", "o", "the same as --format")
	flags.BoolVar(&f.strict, "strict", false, "treat warnings as errors")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print errors only: no warnings, no summary")
	flags.Var(repeated(f.switchRule), "rule", "-NAME turns a rule or a group of rules off, +NAME on; repeatable, the last one wins")
	flags.BoolVar(&f.explainPolicies, "explain-policies", false, "list every policy as proven, refuted or undecided, and why")
	flags.BoolVar(&f.fix, "fix", false, "repair in place what can be repaired safely; keep comments")
	flags.BoolVar(&f.diff, "diff", false, "with --fix: write nothing, show the changes")
	flags.StringVar(&f.baseline, "baseline", "", "`FILE` of known findings that are not reported")
	flags.StringVar(&f.stdinName, "stdin-filename", "", "`FILE` that stdin replaces: messages name it, and relative paths start\nfrom its folder")
	flags.StringVar(&f.writeBaseline, "write-baseline", "", "write all findings to `FILE` as known, and exit 0")
	var rules []string
	for _, name := range append(lint.RuleNames(), lint.RuleGroups()...) {
		rules = append(rules, "-"+name, "+"+name)
	}
	completeFlag(cmd, "rule", fixedCandidates(rules...))
	markSettings(flags, "format", "strict", "quiet", "baseline")
	return cmd
}

func (a *app) validateFiles(f *validateFlags, args []string) error {
	if _, isSet := f.off["policy-kept"]; f.explainPolicies && !isSet {
		f.off["policy-kept"] = false
	}
	triggers, err := a.triggers.Check()
	if err != nil {
		return asUsageError(err)
	}
	sources, err := a.findSources(args, f.stdinName)
	if err != nil {
		return err
	}
	switch {
	case f.diff && !f.fix:
		return usagef("--diff shows what --fix would change; give both")
	case f.fix && !f.diff && slices.Contains(args, "-"):
		return usagef("--fix changes files; it can't change stdin")
	case f.fix:
		if err := a.repairSources(sources, f.diff); err != nil || f.diff {
			return err
		}
	}
	found, err := checkSources(sources, a.rules.EnablesOptional(f.off))
	if err != nil {
		return err
	}
	found = append(triggers, dropRepeated(sources, a.rules.Apply(found, f.off))...)
	if f.writeBaseline != "" {
		found = lint.WithoutEchoes(found)
		if err := settings.WriteBaseline(f.writeBaseline, found); err != nil {
			return asUsageError(err)
		}
		fmt.Fprintf(a.Stderr, "%s written to %s\n", eval.Count(len(found), "finding"), f.writeBaseline)
		return nil
	}
	if found, err = a.selectNewFindings(f, sources, found); err != nil {
		return err
	}
	found = lint.WithoutEchoes(found)
	if err := a.printFindings(f, sources, found); err != nil {
		return err
	}
	if found.HasErrors() || f.strict && slices.ContainsFunc(found, func(d spec.Diagnostic) bool { return d.Severity == spec.Warning }) {
		return exitWith(exitInvalid)
	}
	return nil
}

// dropRepeated drops findings in the file of a subgraph if that file is checked itself.
func dropRepeated(sources []source, found spec.Diagnostics) spec.Diagnostics {
	names := map[string]bool{}
	for i := range sources {
		names[filepath.Clean(sources[i].name)] = true
	}
	return slices.DeleteFunc(found, func(d spec.Diagnostic) bool {
		return d.Rule == "subgraph-missing" && len(d.Related) > 0 && names[filepath.Clean(d.Related[0].File.Name)]
	})
}

func (a *app) selectNewFindings(f *validateFlags, sources []source, found spec.Diagnostics) (spec.Diagnostics, error) {
	if f.baseline == "" {
		return found, nil
	}
	known, err := settings.ReadBaseline(f.baseline)
	if err != nil {
		return nil, asUsageError(err)
	}
	found = known.SelectNew(found)
	if n := known.CountUnused(mapSlice(sources, func(s source) string { return s.name })); n > 0 && !f.quiet {
		fmt.Fprintf(a.Stderr, "%s of %s no longer found; write the baseline anew\n", eval.Count(n, "finding"), f.baseline)
	}
	return found, nil
}

func (a *app) printFindings(f *validateFlags, sources []source, found spec.Diagnostics) error {
	findings := report.Findings{Files: len(sources), Names: mapSlice(sources, func(s source) string { return s.name }), Diagnostics: found}
	shown := findings
	if f.quiet {
		shown.Diagnostics = slices.DeleteFunc(slices.Clone(found), func(d spec.Diagnostic) bool {
			return d.Severity == spec.Info || d.Severity == spec.Warning && !f.strict
		})
	}
	opts := report.Options{
		Color: a.usesColor(a.StdoutTerminal), Strict: f.strict, Rules: lint.Rules(), Version: readBuildVersion().Version,
	}
	if err := report.Write(a.Stdout, f.format.value, shown, opts); err != nil {
		return err
	}
	switch {
	case f.format.value != "text" || f.quiet:
	case len(sources) == 0:
		fmt.Fprintln(a.Stderr, "no graph files found")
	default:
		fmt.Fprintln(a.Stderr, report.Summarize(findings))
	}
	return nil
}

// checkSources checks the sources concurrently and returns the findings in their order. Small files use
// little memory, so that the garbage collector would run after every few of them. Running it less often
// checks a folder of 1,000 flows in 40 % less time.
func checkSources(sources []source, optional bool) (spec.Diagnostics, error) {
	if len(sources) > 100 {
		defer debug.SetGCPercent(debug.SetGCPercent(400))
	}
	results := make([]spec.Diagnostics, len(sources))
	errs := make([]error, len(sources))
	runParallel(len(sources), runtime.GOMAXPROCS(0), func(i int) {
		var src []byte
		if src, errs[i] = sources[i].readText(); errs[i] == nil {
			results[i] = inspect.Check(sources[i].name, src, optional).Found
		}
	})
	return slices.Concat(results...), errors.Join(errs...)
}

// switchRule reads a value of --rule, -name or +name. The last one wins.
func (f *validateFlags) switchRule(text string) error {
	isOff := strings.HasPrefix(text, "-")
	if !isOff && !strings.HasPrefix(text, "+") {
		return fmt.Errorf("%q: want -name to turn a rule off or +name to turn it on", text)
	}
	name, known := text[1:], lint.RuleNames()
	members := lint.RuleGroup(name)
	switch {
	case isOff && name == settings.NeverOff:
		return fmt.Errorf("%q: %s is always an error, since a file that can't be read can't be checked", text, name)
	case slices.Contains(known, name):
		members = []string{name}
	case members == nil:
		return fmt.Errorf("%q: no such rule%s", text, suggest.DidYouMean(name, append(known, lint.RuleGroups()...)))
	}
	for _, rule := range members {
		f.off[rule] = isOff && rule != settings.NeverOff
	}
	return nil
}

// repairSources repairs sources in place before they are checked, or only shows the changes.
func (a *app) repairSources(sources []source, show bool) error {
	problems, files := 0, 0
	for i := range sources {
		s := &sources[i]
		before, err := s.readText()
		if err != nil {
			return err
		}
		after, n := fix.Repair(before, func(src []byte) (*spec.Graph, spec.Diagnostics) {
			checked := inspect.Check(s.name, src, false)
			return checked.Graph, checked.Found
		})
		if n == 0 {
			continue
		}
		problems, files = problems+n, files+1
		if show {
			_, err = a.Stdout.Write(diff.Diff(s.name, before, s.name, after))
		} else {
			s.src = after
			err = overwriteFile(s.name, after)
		}
		if err != nil {
			return err
		}
	}
	did := "fixed"
	if show {
		did = "would fix"
	}
	fmt.Fprintf(a.Stderr, "%s %s in %s\n", did, eval.Count(problems, "problem"), eval.Count(files, "file"))
	return nil
}

// overwriteFile overwrites a file and keeps its permissions.
func overwriteFile(name string, src []byte) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	return os.WriteFile(name, src, info.Mode().Perm())
}
