// Errors about the command line: unknown commands and flags, bad values.

package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/graphrun/graphrun/internal/suggest"
)

// takes returns a check of the number of arguments. A negative most means any number; what
// names the arguments in the message.
func takes(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && (most < 0 || len(args) <= most) {
			return nil
		}
		return usagef("%q takes %s, got %d arguments; see %s --help", cmd.CommandPath(), what, len(args), cmd.CommandPath())
	}
}

// argument returns the first argument, or absent without one.
func argument(args []string, absent string) string {
	if len(args) == 0 {
		return absent
	}
	return args[0]
}

// oneFlow requires exactly one argument, the path of a graph file.
func oneFlow(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("%q needs the path of a graph file; see %s --help", cmd.CommandPath(), cmd.CommandPath())
	}
	return takes(1, 1, "one graph file")(cmd, args)
}

// oneRun requires exactly one argument, the id of a run.
func oneRun(cmd *cobra.Command, args []string) error {
	return takes(1, 1, "the id of one run (last is the latest one, graphrun runs list shows all)")(cmd, args)
}

// noArgs refuses arguments and suggests commands.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	names := subcommands(cmd)
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

// subcommands returns the names of the subcommands of a command, in order.
func subcommands(cmd *cobra.Command) []string {
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
	if near := suggest.Closest(word, subcommands(cmd)); near != "" {
		return near
	}
	if _, err := os.Stat(word); err == nil && !cmd.HasParent() {
		return "run " + word
	}
	if cmd.HasParent() {
		name, isOwn := strings.CutPrefix(synonyms[word], cmd.Name()+" ")
		if !isOwn {
			return ""
		}
		return name
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

// helpOf shows the help of a command. For an unknown subcommand it reports an error; cobra
// would silently show the parent's help.
func (a *app) helpOf(cmd *cobra.Command, show func(*cobra.Command, []string)) {
	if args := cmd.Flags().Args(); len(args) > 0 && len(subcommands(cmd)) > 0 {
		a.misused = noArgs(cmd, args)
		return
	}
	show(cmd, nil)
}

// flagError rewrites an error of pflag as a message with a suggestion.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var lonely *pflag.ValueRequiredError
	var bad *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		return unknownFlag(cmd, unknown)
	case errors.As(err, &lonely):
		f := lonely.GetFlag()
		if want := wantedValues[f.Value.Type()]; want != "" {
			return usagef("--%s needs a value: %s", f.Name, want)
		}
		return usagef("--%s needs a value; see %s --help", f.Name, cmd.CommandPath())
	case errors.As(err, &bad):
		f := bad.GetFlag()
		return usagef("--%s: %w", f.Name, badValue(f, bad.GetValue(), bad.Unwrap()))
	}
	return usage(err)
}

// unknownFlag reports an unknown flag and suggests a similar one.
func unknownFlag(cmd *cobra.Command, err *pflag.NotExistError) error {
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

// badValue describes the values that a flag accepts.
func badValue(f *pflag.Flag, value string, err error) error {
	if want := wantedValues[f.Value.Type()]; want != "" {
		return fmt.Errorf("%q is not %s", value, want)
	}
	return err // the other types of this package have their own messages
}

// checkName returns an error unless the name is known. format is the message with %q for the
// name; plural describes the known names.
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
