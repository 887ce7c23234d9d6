package referencetest_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/referencetest"
)

// The results agree with past.py, a sketch of branches. GRAPHRUN_PAST names a file of its results,
// which testdata/sketch.py writes.
func TestAgreesWithSketch(t *testing.T) {
	name := os.Getenv("GRAPHRUN_PAST")
	if name == "" {
		t.Skip("GRAPHRUN_PAST names no file")
	}
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<24)
	count, bad := 0, 0
	for lines.Scan() {
		var want struct {
			YAML  string
			Path  []string
			State map[string]any
			Views []struct {
				Rank  int
				Order []int
				Node  string
				State map[string]any
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		f, err := referencetest.Parse(want.YAML)
		if err != nil {
			t.Fatal(err)
		}
		_, got := referencetest.Start(f, nil, nil, referencetest.Options{})
		diff := ""
		if a, b := strings.Join(want.Path, " "), strings.Join(got.Path, " "); a != b {
			diff = "path: " + a + "\n got: " + b
		}
		if !equalStates(want.State, got.State) {
			diff += fmt.Sprintf("\nstate: %v\n  got: %v", want.State, got.State)
		}
		views := map[string]map[string]any{}
		for _, s := range got.Log {
			views[fmt.Sprint(s.Rank, s.Order, s.Node)] = s.View.State
		}
		for _, v := range want.Views {
			key := fmt.Sprint(v.Rank, v.Order, v.Node)
			if !equalStates(v.State, views[key]) {
				diff += fmt.Sprintf("\nview %s: %v\n   got: %v", key, v.State, views[key])
			}
		}
		count++
		if diff != "" {
			if bad++; bad < 4 {
				t.Errorf("%s\n%s\n%s", want.YAML, got.Status, diff)
			}
		}
	}
	t.Logf("%d graphs, %d differ", count, bad)
}

// equalStates reports whether states are equal. Keys without a value count as absent.
func equalStates(a, b map[string]any) bool {
	clean := func(m map[string]any) map[string]any {
		out := map[string]any{}
		for k, v := range m {
			v, _ := eval.Canonical(v)
			if list, ok := v.([]any); v == nil || v == 0 || ok && len(list) == 0 {
				continue
			}
			out[k] = v
		}
		return out
	}
	return reflect.DeepEqual(clean(a), clean(b))
}
