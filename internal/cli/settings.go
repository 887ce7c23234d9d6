// Settings: flags that also come from the environment and from graphrun.yaml.

package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/internal/settings"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

const settingAnnotation = "graphrun_setting"

// setting marks flags as settings.
func setting(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		if err := flags.SetAnnotation(name, settingAnnotation, []string{"true"}); err != nil {
			panic(err) // a flag that does not exist: a mistake in this package, seen by every test
		}
	}
}

func isSetting(f *pflag.Flag) bool { return f.Annotations[settingAnnotation] != nil }

// settingNames are the settings of all commands, sorted.
func settingNames() []string {
	root := newRoot(&app{})
	var names []string
	add := func(f *pflag.Flag) {
		if isSetting(f) {
			names = append(names, f.Name)
		}
	}
	root.PersistentFlags().VisitAll(add)
	for _, c := range root.Commands() {
		c.Flags().VisitAll(add)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// envName is the variable of a setting: GRAPHRUN_MAX_STEPS for max-steps.
func envName(name string) string {
	return "GRAPHRUN_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// loadSettings fills the flags that were not given from the environment, then
// from the settings file. It is the PreRunE of the commands that have settings.
func (a *app) loadSettings(cmd *cobra.Command, _ []string) error { return a.loadSettingsOf("", cmd) }

// loadFolderSettings is loadSettings for commands that take a folder of flows. It reads
// the settings file of that folder.
func (a *app) loadFolderSettings(cmd *cobra.Command, args []string) error {
	if len(args) == 1 {
		if info, err := os.Stat(args[0]); err == nil && info.IsDir() {
			return a.loadSettingsOf(args[0], cmd)
		}
	}
	return a.loadSettingsOf("", cmd)
}

func (a *app) loadSettingsOf(folder string, cmd *cobra.Command) error {
	file, err := settings.Read(folder, a.ConfigDir, settingNames())
	if err != nil {
		return usage(err)
	}
	a.rules, a.always, a.triggers = file.Rules, file.Notify, triggerList{file.Path, file.Src, file.Triggers, file.Misread}
	v := viper.New()
	if err := v.MergeConfigMap(file.Values); err != nil {
		return usage(fmt.Errorf("%s: %w", file.Path, err))
	}
	var problems []error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !isSetting(f) || f.Changed {
			return
		}
		if err := v.BindEnv(f.Name, envName(f.Name)); err != nil {
			problems = append(problems, err)
			return
		}
		if !v.IsSet(f.Name) {
			return
		}
		value := v.GetString(f.Name)
		if err := f.Value.Set(value); err != nil {
			source := file.Place(f.Name)
			if os.Getenv(envName(f.Name)) != "" {
				source = envName(f.Name)
			}
			problems = append(problems, fmt.Errorf("%s: %s: %w", source, f.Name, badValue(f, value, err)))
			return
		}
		f.Changed = true
	})
	if len(problems) > 0 {
		return usage(errors.Join(problems...))
	}
	if a.onCluster() && a.Engine == nil {
		return a.handOver()
	}
	return nil
}
