// What a node would do, without doing it.

package node

import (
	"context"
	"io"
	"maps"
	"slices"

	"github.com/graphrun/graphrun/runner"
)

// Describe returns what an exec node would start (command, dir, stdin, env) or an http
// node send (method, url, headers, body). Other kinds have no description.
func Describe(ctx context.Context, task *runner.Task) (map[string]any, error) {
	switch task.Kind {
	case "exec":
		job, _, err := readExec(task)
		if err != nil {
			return nil, err
		}
		out := map[string]any{"command": job.argv, "dir": job.dir, "stdin": string(job.stdin)}
		if env, _ := task.Config["env"].(map[string]any); len(env) > 0 {
			out["env"] = env
		}
		return out, nil
	case "http":
		c, err := readCall(ctx, task.Config)
		if err != nil {
			return nil, err
		}
		headers := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(c.request.Header)) {
			headers[name] = c.request.Header.Get(name)
		}
		out := map[string]any{"method": c.request.Method, "url": c.request.URL.String(), "headers": headers}
		if c.request.Body != nil {
			body, err := io.ReadAll(c.request.Body)
			if err != nil {
				return nil, err
			}
			out["body"] = string(body)
		}
		return out, nil
	}
	return nil, nil
}
