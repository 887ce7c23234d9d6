// The validate command: check files and folders.

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/internal/bounded"
	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/internal/report"
	"github.com/graphrun/graphrun/internal/settings"
	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/lint"
	"github.com/graphrun/graphrun/spec"
)

// stdinName is what messages call the graph read from stdin.
const stdinName = "<stdin>"

type validateFlags struct {
	format   enum
	strict   bool
	quiet    bool
	rules    []string
	fix      bool
	diff     bool // show what fix would do
	baseline string
	// explain lists the policies that are proven, too.
	explain bool
	// record is the baseline to write.
	record string
	// most is how many warnings are borne; -1: any number.
	most int
	// name is what the graph from stdin is called.
	name string
	// statistics counts the findings of each rule.
	statistics bool
}

func newValidateCommand(a *app) *cobra.Command {
	var f validateFlags
	f.format = newEnum("text", report.FormatNames()...)
	cmd := &cobra.Command{
		Use:     "validate [PATH...]",
		Aliases: []string{"lint"},
		Short:   "Check graph files without running anything",
		Long: `validate checks graph files: syntax, keys and values, the shape of the graph, and
expressions. It executes nothing and uses no network.

It searches folders, by default the working directory, for .yaml, .yml and .json files
with a top-level graphrun key. It skips hidden folders, node_modules and what .gitignore
names, and does not follow symbolic links to folders; - reads a graph from stdin.

A comment silences rules on its own line, on the next line if it stands alone, and in a
whole block text if it stands where the text begins:

  # graphrun: ignore duplicate-edge, unreachable-node

ignore-file silences rules in the whole file. A comment that names no rule is reported.
graphrun.yaml can set severities, for all files or for some (also for JSON, which has no
comments), and exclude files from searches; its paths are relative to it:

  rules:
    unused-key: off
  paths:
    legacy/**: {missing-timeout: warning}
  exclude: [generated/**]

Turn on a rule that is off by default (see graphrun explain) there or with --rule, which
also takes groups: structure, expressions, data, parallel, limits, models, security,
policies.

In GitHub Actions, findings are printed as workflow commands unless --format says
otherwise. --fix repairs what it can without changing what a valid graph does: repeated
edges, comments that silence nothing, misspelt keys, and misspelt names of nodes and
state keys if only one can be meant; --fix --diff shows the changes.

Exit codes: 0 no error, 3 errors (with --strict also warnings), 2 no such file.`,
		Example: `  graphrun validate
  graphrun validate flow.yaml flows/ --strict
  graphrun validate --format json - < flow.yaml
  graphrun validate flow.yaml --explain-policies
  graphrun validate --rule -duplicate-edge --rule +policy-kept
  graphrun validate --write-baseline known.json && graphrun validate --baseline known.json
  graphrun validate --format sarif > findings.sarif`,
		PreRunE: a.loadSettings,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if os.Getenv("GITHUB_ACTIONS") == "true" && !cmd.Flags().Changed("format") && !cmd.Flags().Changed("output") {
				f.format.value = "github"
			}
			return a.validate(&f, args)
		},
	}
	flags := cmd.Flags()
	enumFlag(cmd, flags, &f.format, "format", "", "report format")
	enumFlag(cmd, flags, &f.format, "output", "o", "the same as --format")
	flags.BoolVar(&f.strict, "strict", false, "treat warnings as errors")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print errors only: no warnings, no summary")
	flags.StringArrayVar(&f.rules, "rule", nil, "-NAME turns a rule or a group of rules off, +NAME on; repeatable, the last one wins")
	flags.BoolVar(&f.explain, "explain-policies", false, "list every policy as proven, refuted or undecided, and why")
	flags.BoolVar(&f.fix, "fix", false, "repair in place what can be repaired safely; comments stay")
	flags.BoolVar(&f.diff, "diff", false, "with --fix: write nothing, show the changes")
	flags.StringVar(&f.baseline, "baseline", "", "`FILE` of known findings that are not reported")
	flags.IntVar(&f.most, "max-warnings", -1, "allow `N` warnings; more count as errors")
	flags.StringVar(&f.name, "stdin-filename", "", "`FILE` that stdin stands for: messages name it, and relative paths start\nfrom its folder")
	flags.BoolVar(&f.statistics, "statistics", false, "count the findings of each rule at the end")
	flags.StringVar(&f.record, "write-baseline", "", "write all findings to `FILE` as known, and exit 0")
	completeBy(cmd, "rule", ruleChoices)
	setting(flags, "format", "strict", "quiet", "baseline", "max-warnings")
	return cmd
}

func (a *app) validate(f *validateFlags, args []string) error {
	off, err := disabledRules(f.rules)
	if err != nil {
		return err
	}
	if _, said := off["policy-kept"]; f.explain && !said {
		off["policy-kept"] = false
	}
	triggers, err := a.checkOwnTriggers()
	if err != nil {
		return err
	}
	sources, err := a.findSources(args, f.name)
	if err != nil {
		return err
	}
	switch {
	case f.diff && !f.fix:
		return usagef("--diff shows what --fix would change; give both")
	case f.diff:
		return a.showFixes(sources)
	case f.fix:
		if slices.Contains(args, "-") {
			return usagef("--fix changes files; it can't change stdin")
		}
		if err := a.fixAll(sources); err != nil {
			return err
		}
	}
	defer setCollector(sources)()
	found, err := checkAll(sources, a.rules.Optional(off))
	if err != nil {
		return err
	}
	found = append(triggers, toldOnce(sources, a.rules.Apply(found, off))...)
	if f.record != "" {
		found = lint.WithoutEchoes(found)
		if err := writeBaseline(f.record, found); err != nil {
			return usage(err)
		}
		fmt.Fprintf(a.Stderr, "%s written to %s\n", counted(len(found), "finding"), f.record)
		return nil
	}
	if found, err = a.withoutKnown(f, sources, found); err != nil {
		return err
	}
	found = lint.WithoutEchoes(found)
	if err := a.printFindings(f, sources, found); err != nil {
		return err
	}
	if f.statistics {
		a.printStatistics(found)
	}
	warnings := countWarnings(found)
	if f.most >= 0 && warnings > f.most && !f.quiet {
		fmt.Fprintf(a.Stderr, "%s, more than --max-warnings %d\n", counted(warnings, "warning"), f.most)
	}
	if found.HasErrors() || f.strict && warnings > 0 || f.most >= 0 && warnings > f.most {
		return silent(exitInvalid)
	}
	return nil
}

func countWarnings(found spec.Diagnostics) int {
	n := 0
	for i := range found {
		if found[i].Severity == spec.Warning {
			n++
		}
	}
	return n
}

// toldOnce drops what is said of a subgraph's file where that file is checked, too: what
// is wrong stands there.
func toldOnce(sources []source, found spec.Diagnostics) spec.Diagnostics {
	names := map[string]bool{}
	for i := range sources {
		names[filepath.Clean(sources[i].name)] = true
	}
	return slices.DeleteFunc(found, func(d spec.Diagnostic) bool {
		return d.Rule == "subgraph-missing" && len(d.Related) > 0 && names[filepath.Clean(d.Related[0].File.Name)]
	})
}

// printStatistics counts the findings by rule, the most first.
func (a *app) printStatistics(found spec.Diagnostics) {
	count := map[string]int{}
	for i := range found {
		count[found[i].Rule]++
	}
	rules := slices.SortedFunc(maps.Keys(count), func(x, y string) int {
		return cmp.Or(count[y]-count[x], cmp.Compare(x, y))
	})
	for _, rule := range rules {
		fmt.Fprintf(a.Stderr, "%5d  %s\n", count[rule], rule)
	}
}

// withoutKnown drops the findings of the baseline.
func (a *app) withoutKnown(f *validateFlags, sources []source, found spec.Diagnostics) (spec.Diagnostics, error) {
	if f.baseline == "" {
		return found, nil
	}
	known, err := readBaseline(f.baseline)
	if err != nil {
		return nil, err
	}
	found = known.drop(found)
	if n := known.unused(sources); n > 0 && !f.quiet {
		fmt.Fprintf(a.Stderr, "%s of %s no longer found; write the baseline anew\n", counted(n, "finding"), f.baseline)
	}
	return found, nil
}

func (a *app) printFindings(f *validateFlags, sources []source, found spec.Diagnostics) error {
	findings := report.Findings{Files: len(sources), Diagnostics: found}
	for i := range sources {
		findings.Names = append(findings.Names, sources[i].name)
	}
	shown := findings
	switch {
	case f.quiet && !f.strict:
		shown.Diagnostics = inspect.ErrorsOnly(found)
	case f.quiet:
		shown.Diagnostics = slices.DeleteFunc(slices.Clone(found), func(d spec.Diagnostic) bool { return d.Severity == spec.Info })
	}
	opts := report.Options{Color: a.colorOn(a.StdoutTerminal), Strict: f.strict, Version: programVersion()}
	if f.format.value == "sarif" {
		opts.Rules = describedRules()
	}
	if err := report.Write(a.Stdout, f.format.value, shown, opts); err != nil {
		return err
	}
	switch {
	case f.format.value != "text" || f.quiet:
	case len(sources) == 0:
		fmt.Fprintln(a.Stderr, "no graph files found")
	default:
		fmt.Fprintln(a.Stderr, report.Summary(findings))
	}
	return nil
}

// findSources lists the graphs to check, sorted by name, each once.
func (a *app) findSources(args []string, stdin string) ([]source, error) {
	if len(args) == 0 {
		args = []string{"."}
	}
	f := finder{exclude: a.rules.Exclude}
	for _, arg := range args {
		if arg == "-" {
			src, err := bounded.ReadAll(a.Stdin, "stdin", bounded.Text)
			if err != nil {
				return nil, err
			}
			f.add(source{name: cmp.Or(stdin, stdinName), src: src})
			continue
		}
		if err := f.find(arg); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil, usagef("no such file or folder: %s", arg)
			}
			return nil, usage(err)
		}
	}
	if len(f.sources) == 0 && len(f.left) > 0 {
		fmt.Fprintf(a.Stderr, "graphrun: .gitignore or exclude leaves out all that could be a graph: %s; name a file to have it all the same\n", firstNames(f.left))
	}
	return f.sorted(), nil
}

// firstNames are the first of some names, and how many more there are.
func firstNames(names []string) string {
	const most = 3
	shown := names[:min(most, len(names))]
	text := terminal.Line(strings.Join(shown, ", "))
	if more := len(names) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// checkAll checks the sources, several at once, and returns what was found in
// their order.
func checkAll(sources []source, optional bool) (spec.Diagnostics, error) {
	if len(sources) == 1 { // as mostly: without a goroutine
		return sources[0].check(optional)
	}
	results := make([]spec.Diagnostics, len(sources))
	errs := make([]error, len(sources))
	var wg sync.WaitGroup
	var next atomic.Int64
	// Few goroutines take file after file: each keeps the stack that it has grown.
	for range min(runtime.GOMAXPROCS(0), len(sources)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(sources); i = int(next.Add(1)) - 1 {
				results[i], errs[i] = sources[i].check(optional)
				sources[i].src = nil
			}
		})
	}
	wg.Wait()
	var all spec.Diagnostics
	for _, ds := range results {
		all = append(all, ds...)
	}
	return all, errors.Join(errs...)
}

// check reads the source, if that has not been done, and returns its findings.
func (s source) check(optional bool) (spec.Diagnostics, error) {
	src := s.src
	if src == nil {
		var err error
		if src, err = bounded.ReadArgument(s.name, bounded.Text); err != nil {
			return nil, usage(err)
		}
	}
	return inspect.Check(s.name, src, optional).Found, nil
}

// disabledRules reads --rule flags: -name and +name, the last wins.
func disabledRules(flags []string) (map[string]bool, error) {
	off := map[string]bool{}
	if len(flags) == 0 {
		return off, nil
	}
	known := ruleNames()
	for _, f := range flags {
		sign, name := "", f
		if strings.HasPrefix(f, "-") || strings.HasPrefix(f, "+") {
			sign, name = f[:1], f[1:]
		}
		if sign == "" {
			return nil, usagef("--rule %q: want -name to turn a rule off or +name to turn it on", f)
		}
		members := lint.RuleGroup(name)
		switch {
		case contains(known, name):
			members = []string{name}
		case members == nil:
			return nil, usagef("--rule %q: no such rule%s", f, suggest.DidYouMean(name, append(known, lint.RuleGroups()...)))
		}
		if sign == "-" && name == settings.NeverOff {
			return nil, usagef("--rule %q: nothing is known of a file that can't be read, so %s is always an error", f, settings.NeverOff)
		}
		for _, rule := range members {
			off[rule] = sign == "-" && rule != settings.NeverOff
		}
	}
	return off, nil
}
