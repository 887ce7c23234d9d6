// Flags that take one of a few words.

package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// enum is a flag's value that must be one of a list of words.
type enum struct {
	value   string
	allowed []string
}

func newEnum(value string, allowed ...string) enum { return enum{value: value, allowed: allowed} }

// String is the value.
func (e *enum) String() string { return e.value }

// Set takes one of the allowed words.
func (e *enum) Set(s string) error {
	if !slices.Contains(e.allowed, s) {
		return fmt.Errorf("%q is not allowed%s (allowed: %s)", s, suggest.DidYouMean(s, e.allowed), strings.Join(e.allowed, ", "))
	}
	e.value = s
	return nil
}

// Type is what help shows: the allowed words.
func (e *enum) Type() string { return strings.Join(e.allowed, "|") }

// enumFlag adds an enum flag and the completion of its words.
func enumFlag(cmd *cobra.Command, flags *pflag.FlagSet, e *enum, name, short, help string) {
	flags.VarP(e, name, short, help)
	complete(cmd, name, e.allowed)
}

// enumList is a flag's value that is a comma-separated list of words.
type enumList struct {
	values  []string
	allowed []string
}

// String is the list as it is given.
func (e *enumList) String() string { return strings.Join(e.values, ",") }

// Set adds the words of a list.
func (e *enumList) Set(s string) error {
	for _, word := range strings.Split(s, ",") {
		word = strings.TrimSpace(word)
		if !slices.Contains(e.allowed, word) {
			return fmt.Errorf("%q is not allowed%s (allowed: %s)", word, suggest.DidYouMean(word, e.allowed), strings.Join(e.allowed, ", "))
		}
		e.values = append(e.values, word)
	}
	return nil
}

// Type is what help shows.
func (e *enumList) Type() string { return "list" }

// complete offers fixed words as the completion of a flag.
func complete(cmd *cobra.Command, flag string, words []string) {
	completeBy(cmd, flag, func() []string { return words })
}

// completeBy is complete with words that are listed only when they are asked for.
func completeBy(cmd *cobra.Command, flag string, words func() []string) {
	// The only error is a flag that does not exist or has a completion already.
	if err := cmd.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return words(), cobra.ShellCompDirectiveNoFileComp
	}); err != nil {
		panic(err) // a mistake in this package, seen by every test
	}
}
