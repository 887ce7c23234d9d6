// Notifications: an HTTP request or a program.

package node

import (
	"context"
	"encoding/json"

	"github.com/graphrun/graphrun/runner"
)

// Notify returns a function that sends a notification like an http or exec node.
func Notify(opts Options) func(ctx context.Context, notice runner.Notice) error {
	kinds := map[string]runner.Handler{}
	for _, kind := range Kinds(opts) {
		kinds[kind.Spec.Name] = kind.Handler
	}
	return func(ctx context.Context, notice runner.Notice) error {
		about, err := json.Marshal(notice.About)
		if err != nil {
			return err
		}
		kind, config := "exec", map[string]any{"command": notice.Config["command"], "stdin": string(about), "parse": "text"}
		if url, ok := notice.Config["url"]; ok {
			body, given := notice.Config["body"]
			if !given {
				body = notice.About
			}
			kind, config = "http", map[string]any{"url": url, "method": "POST", "body": body}
			if headers, ok := notice.Config["headers"]; ok {
				config["headers"] = headers
			}
		}
		_, err = kinds[kind].Run(ctx, &runner.Task{Graph: notice.Graph, Dir: notice.Dir, Config: config})
		return err
	}
}
