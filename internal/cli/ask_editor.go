// Answers that are written in an editor.

package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/graphrun/graphrun/internal/bounded"
)

// editor lets a person write a text with $VISUAL, else $EDITOR; nil when neither
// is set.
func (a *app) editor() func(ctx context.Context) (string, error) {
	command := os.Getenv("VISUAL")
	if command == "" {
		command = os.Getenv("EDITOR")
	}
	if command == "" {
		return nil
	}
	return func(ctx context.Context) (string, error) {
		dir, err := os.MkdirTemp("", "graphrun-")
		if err != nil {
			return "", err
		}
		defer os.RemoveAll(dir)
		path := filepath.Join(dir, "answer.txt")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			return "", err
		}
		cmd := exec.CommandContext(ctx, "sh", "-c", command+` "$1"`, "sh", path) // a command may have arguments: "code --wait"
		cmd.Stdin, cmd.Stdout, cmd.Stderr = a.Stdin, a.Stderr, a.Stderr
		if err := cmd.Run(); err != nil {
			return "", fmt.Errorf("the editor %q: %w", command, err)
		}
		text, err := bounded.ReadFile(path, bounded.Text)
		return strings.TrimRight(string(text), "\r\n"), err
	}
}
