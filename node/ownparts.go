// Parts that values name, of tools and of people: what of the machine they may show.

package node

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/runner"
)

// resultContent is what a tool gave as a model is told it: images, files and audio
// stay such; other data is JSON. What a tool names by a path counts only where it is
// an image or audio in the folder of the graph or of the run: a list of names is
// data, and a tool must not choose what of the machine is sent.
func resultContent(task *runner.Task, v any) (content, error) {
	if !eval.IsMedia(v) {
		if pieces, media := eval.Pieces(v); media {
			return contentOf(task.Dir, pieces)
		}
		return content{text: eval.Text(v)}, nil
	}
	list, isList := v.([]any)
	if !isList {
		list = []any{v}
	}
	for i, item := range list {
		fields, _ := item.(map[string]any)
		for _, key := range []string{"audio", "file", "image"} {
			named, isPath := pathOf(fields, key)
			if !isPath {
				continue
			}
			path, within := ownFile(task, named)
			if key == "file" || !within {
				return content{text: eval.Text(v)}, nil
			}
			list = slices.Clone(list)
			list[i] = maps.Clone(fields)
			list[i].(map[string]any)[key] = path
		}
	}
	return contentOf(task.Dir, list)
}

// valueContent is what a value says that a graph puts into a prompt or takes for a
// message. A file that it names by a path must stand in the folder of the graph or of
// the run: values come from people, tools and requests, who must not choose what of the
// machine a provider is sent.
func valueContent(task *runner.Task, v any) (content, error) {
	list, isList := v.([]any)
	if !isList {
		list = []any{v}
	}
	if !isParts(v) {
		return contentOf(task.Dir, v)
	}
	list = slices.Clone(list)
	for i, item := range list {
		fields, isPart := item.(map[string]any)
		if !isPart {
			continue
		}
		var err error
		if list[i], err = ownPart(task, fields); err != nil {
			return content{}, err
		}
	}
	return contentOf(task.Dir, list)
}

// ownPart is a part that a value names, with the whole path of its file.
func ownPart(task *runner.Task, fields map[string]any) (map[string]any, error) {
	for _, key := range []string{"audio", "file", "image"} {
		named, isPath := pathOf(fields, key)
		if !isPath {
			continue
		}
		path, within := ownFile(task, named)
		if !within {
			return nil, invalidInput("the part %s %q: there is no such file in the folder of the graph or of the run, and a value names no others; write {%s: path} in the prompt for one elsewhere", key, head(named, 80), key)
		}
		fields = maps.Clone(fields)
		fields[key] = path
		if fields["name"] == nil {
			fields["name"] = filepath.Base(named)
		}
	}
	return fields, nil
}

// pathOf is the path of a part's file; false: it has none.
func pathOf(fields map[string]any, key string) (string, bool) {
	named, _ := fields[key].(string)
	return named, named != "" && !strings.HasPrefix(strings.ToLower(named), "data:") && !strings.Contains(named, "://")
}

// ownFile is the file that a path means which a tool gave, if it stands in the folder
// of the run or of the graph.
func ownFile(task *runner.Task, named string) (path string, within bool) {
	dirs := []string{task.Dir}
	if task.RunDir != nil {
		if dir, err := task.RunDir(); err == nil {
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range dirs {
		dir, err := filepath.Abs(dir)
		if err != nil {
			continue
		}
		path := filepath.FromSlash(named)
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			continue
		}
		if home, err := filepath.EvalSymlinks(dir); err == nil {
			if rel, err := filepath.Rel(home, real); err == nil && filepath.IsLocal(rel) {
				return real, true
			}
		}
	}
	return "", false
}
