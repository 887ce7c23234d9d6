// Reading flows, files and the input of -i and --input-file.

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/flowtest"
	"github.com/graphrun/graphrun/internal/bounded"
	"github.com/graphrun/graphrun/internal/input"
	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
)

// readInput builds the input from --input-file and -i, which wins. Missing required keys are
// errors unless partial is set.
func (a *app) readInput(g *spec.Graph, file string, pairs []string, partial bool) (map[string]any, error) {
	in := input.NewReader(g)
	if file != "" {
		src, err := a.readPath(file)
		if err != nil {
			return nil, usagef("--input-file: %w", err)
		}
		in.File(file, src)
	}
	for _, pair := range pairs {
		in.Pair(pair)
	}
	values, problems := in.Values(partial)
	if len(problems) > 0 {
		return nil, &runner.InputError{Problems: problems}
	}
	return values, nil
}

// readPath reads a file, or stdin for "-".
func (a *app) readPath(path string) ([]byte, error) {
	if path == "-" {
		return bounded.ReadAll(a.Stdin, "stdin", bounded.Text)
	}
	src, err := bounded.ReadArgument(path, bounded.Text)
	if err != nil {
		err = fmt.Errorf("%w%s", err, suggestFile(path))
	}
	return src, err
}

// suggestFile returns "; did you mean …" with a similar flow file beside a path that can't be
// read, or in a folder, or "".
func suggestFile(path string) string {
	folder, base := filepath.Dir(path), filepath.Base(path)
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return ""
	} else if err == nil {
		folder, base = path, "flow.yaml"
	}
	var flows []string
	entries, _ := os.ReadDir(folder) // none on an error
	for _, e := range entries {
		if !e.IsDir() && isGraphName(e.Name()) && !flowtest.IsTestFile(e.Name()) {
			flows = append(flows, e.Name())
		}
	}
	if near := suggest.Closest(base, flows); near != "" {
		base = near
	} else if !slices.Contains(flows, base) {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", filepath.Join(folder, base))
}

func withoutExt(name string) string { return strings.TrimSuffix(name, filepath.Ext(name)) }

// textOrFile returns the text of a flag, or of a file for @path.
func textOrFile(s string) (string, error) {
	path, isFile := strings.CutPrefix(s, "@")
	if !isFile {
		return s, nil
	}
	src, err := bounded.ReadStream(path, bounded.Text)
	return strings.TrimRight(string(src), "\r\n"), err
}

// readLabels reads key=value pairs.
func readLabels(pairs []string) (map[string]string, error) {
	out := map[string]string{}
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, usagef("--label %q: want key=value", pair)
		}
		out[key] = value
	}
	return out, nil
}
