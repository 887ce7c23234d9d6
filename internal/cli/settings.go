// Settings: flags that also come from the environment and from graphrun.yaml.

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"github.com/graphrun/graphrun/internal/bounded"
	"github.com/graphrun/graphrun/spec"
)

const (
	settingsFile      = "graphrun.yaml"
	settingAnnotation = "graphrun_setting"
)

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
func (a *app) loadSettings(cmd *cobra.Command, _ []string) error {
	file, err := a.readSettings()
	if err != nil {
		return err
	}
	a.rules, a.triggers = file.rules, triggerList{file.path, file.src, file.triggers, file.misread}
	v := viper.New()
	if err := v.MergeConfigMap(file.values); err != nil {
		return usage(fmt.Errorf("%s: %w", file.path, err))
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
			source := file.place(f.Name)
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

// findSettings returns the path and the text of the settings file: the nearest
// graphrun.yaml from the working directory upwards, else the user's. A graph
// that happens to have that name is not one. The path is "" when there is none.
func (a *app) findSettings() (string, []byte, error) {
	var folders []string
	if dir, err := os.Getwd(); err == nil {
		for {
			folders = append(folders, dir)
			parent := filepath.Dir(dir)
			if parent == dir {
				break
			}
			dir = parent
		}
	}
	if a.ConfigDir != "" {
		folders = append(folders, filepath.Join(a.ConfigDir, "graphrun"))
	}
	for i, dir := range folders {
		path := filepath.Join(dir, settingsFile)
		src, err := bounded.ReadFile(path, bounded.Text)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", nil, usage(fmt.Errorf("settings: %w", err))
		}
		if spec.IsGraph(src) {
			continue
		}
		if i == 0 {
			path = settingsFile
		}
		return path, src, nil
	}
	return "", nil, nil
}
