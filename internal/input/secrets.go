// The secrets of a graph, from the environment, files and programs.

package input

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graphrun/graphrun/internal/bounded"
	"github.com/graphrun/graphrun/internal/redact"
	"github.com/graphrun/graphrun/spec"
)

// ReadSecrets reads the secrets of the graph by name. If there are problems, it returns only them.
func ReadSecrets(g *spec.Graph) (values map[string]any, wrong []string) {
	out := make(map[string]any, len(g.Secrets))
	for i := range g.Secrets {
		secret := &g.Secrets[i]
		value, problem := readSecret(secret)
		if problem != "" {
			wrong = append(wrong, fmt.Sprintf("secret %q: %s", secret.Name.Value, problem))
		}
		out[secret.Name.Value] = value
	}
	if len(wrong) > 0 {
		slices.Sort(wrong)
		return nil, wrong
	}
	return out, nil
}

func readSecret(s *spec.Secret) (value, problem string) {
	source := ""
	switch {
	case s.Env.IsSet():
		text, ok := os.LookupEnv(s.Env.Value)
		if !ok {
			return "", fmt.Sprintf("environment variable %s is not set", s.Env.Value)
		}
		value, source = text, "environment variable "+s.Env.Value
	case s.File.IsSet():
		text, err := bounded.ReadFile(s.File.Value, bounded.Text)
		if err != nil {
			return "", err.Error()
		}
		value, source = strings.TrimRight(string(text), "\r\n"), "what file "+s.File.Value+" holds"
	default:
		text, err := runSecretCommand(s.Command)
		if err != nil {
			return "", err.Error()
		}
		value, source = text, "what "+s.Command[0].Value+" prints"
	}
	if refusal := redact.Refusal(value); refusal != "" {
		return "", source + " " + refusal
	}
	return value, ""
}

// secretTimeout is the timeout of a command that prints a secret.
const secretTimeout = 30 * time.Second

// outputs caches the output of each command.
var outputs sync.Map // functions func() (string, error) by command

// runSecretCommand runs a command once per process and returns its output without the last
// line break.
func runSecretCommand(command []spec.Text) (string, error) {
	args := spec.Strings(command)
	once, _ := outputs.LoadOrStore(strings.Join(args, "\x00"), sync.OnceValues(func() (string, error) { return runCommand(args) }))
	return once.(func() (string, error))()
}

func runCommand(args []string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), secretTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &stdout, &stderr, time.Second
	err := cmd.Run()
	switch exit := (*exec.ExitError)(nil); {
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s printed nothing within %s", args[0], secretTimeout)
	case errors.As(err, &exit):
		return "", fmt.Errorf("%s exited with code %d: %s", args[0], exit.ExitCode(), strings.TrimSpace(stderr.String()))
	case err != nil:
		return "", err
	}
	return strings.TrimSuffix(strings.TrimSuffix(stdout.String(), "\n"), "\r"), nil
}

// CheckSecretLengths refuses values of secret keys and provider keys that are too short to mask.
func CheckSecretLengths(g *spec.Graph, input map[string]any) (wrong []string) {
	for _, key := range g.State {
		if text, ok := input[key.Name.Value].(string); ok && key.Secret {
			if refusal := redact.Refusal(text); refusal != "" {
				wrong = append(wrong, fmt.Sprintf("input %q: it is secret, and the text %s", key.Name.Value, refusal))
			}
		}
	}
	for _, p := range g.Providers {
		declared, _ := p.Value.Data().(map[string]any)
		text, ok := declared["api_key"].(string)
		if refusal := redact.Refusal(text); ok && refusal != "" {
			wrong = append(wrong, fmt.Sprintf("provider %q: its api_key %s", p.Key.Value, refusal))
		}
	}
	slices.Sort(wrong)
	return wrong
}
