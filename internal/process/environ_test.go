package process

import (
	"slices"
	"strings"
	"testing"
)

func TestEnvironment(t *testing.T) {
	for name, value := range map[string]string{
		"OPENAI_API_KEY": "key", "MY_FLAG": "1", "LC_ALL": "C", "XDG_CACHE_HOME": "/c", "TZ": "UTC",
		"GRAPHRUN_TASK_KEY": "outer", "LC_TOKEN": "secret",
	} {
		t.Setenv(name, value)
	}
	for _, test := range []struct {
		name     string
		pass     any
		withheld []string
		want     string
		not      string
	}{
		{"what a shell needs", nil, nil, "PATH LC_ALL XDG_CACHE_HOME TZ LC_TOKEN", "OPENAI_API_KEY MY_FLAG GRAPHRUN_TASK_KEY"},
		{"a secret of the usual names", nil, []string{"LC_TOKEN"}, "PATH LC_ALL", "LC_TOKEN"},
		{"names besides", []any{"MY_FLAG", "ABSENT"}, nil, "PATH MY_FLAG", "OPENAI_API_KEY ABSENT"},
		{"a key by its name", []any{"OPENAI_API_KEY", "LC_TOKEN"}, []string{"LC_TOKEN"}, "OPENAI_API_KEY LC_TOKEN", "MY_FLAG"},
		{"all", "all", nil, "PATH MY_FLAG OPENAI_API_KEY", "GRAPHRUN_TASK_KEY"},
		{"never those of another task", []any{"GRAPHRUN_TASK_KEY"}, nil, "PATH", "GRAPHRUN_TASK_KEY"},
	} {
		t.Run(test.name, func(t *testing.T) {
			entries, err := Environ("/", test.pass, test.withheld, nil)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, entry := range entries {
				name, _, _ := strings.Cut(entry, "=")
				names = append(names, name)
			}
			for _, name := range strings.Fields(test.want) {
				if !slices.Contains(names, name) {
					t.Errorf("%s is missing", name)
				}
			}
			for _, name := range strings.Fields(test.not) {
				if slices.Contains(names, name) {
					t.Errorf("%s is there", name)
				}
			}
		})
	}
}
