// Engines: who drives runs, this process or a cluster.

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/model/cassette"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

// Engine drives runs on a cluster. Its store reads them.
type Engine interface {
	// Store reads the runs of the cluster, for as long as ctx.
	Store(ctx context.Context) ClusterStore
	// Work runs a worker until ctx ends.
	Work(ctx context.Context, o WorkSettings) error
}

// ClusterStore is the store of a cluster's runs. r reads it.
type ClusterStore interface {
	store.Store
	// Begin begins a run and attends it until it has ended or pauses. What models and tools
	// answer is recorded on tape, or played from it; nil: neither.
	Begin(ctx context.Context, r *runner.Runner, flow *runner.Flow, opts runner.Options, tape *cassette.Cassette) (*runner.Result, error)
	// ForkOf forks a run and attends the new one.
	ForkOf(ctx context.Context, r *runner.Runner, runID string, opts runner.ForkOptions) (*runner.Result, error)
	// Resume takes up a run and attends it.
	Resume(ctx context.Context, r *runner.Runner, runID string, opts runner.Options) (*runner.Result, error)
	// ResumeWith takes up a run with another version of its graph; see runner.ResumeWith.
	ResumeWith(ctx context.Context, r *runner.Runner, runID string, g *spec.Graph, opts runner.Options) (*runner.Result, error)
}

// EngineSettings say where the cluster is; see docs/temporal.md.
type EngineSettings struct {
	Address, Namespace, TaskQueue     string
	TLS                               bool
	Cert, Key, CA, ServerName, APIKey string
	Payloads                          string
}

// WorkSettings are those of a worker.
type WorkSettings struct {
	// Queues are those of nodes; none: the worker drives runs, too.
	Queues   []string
	MaxTasks int
	MaxRuns  int
	// Heartbeat is how long the worker may be silent.
	Heartbeat time.Duration
	// Ready is called when the worker takes tasks.
	Ready func(queue string)
}

// engineTemporal is the value of --engine for a Temporal cluster.
const engineTemporal = "temporal"

// engineProgram is the program that has the engine.
const engineProgram = "graphrun-temporal"

// engineFlags are the engine, and where its cluster is.
type engineFlags struct {
	name     enum
	settings EngineSettings
	store    ClusterStore // opened; nil: not yet
}

func (a *app) addEngineFlags(root *cobra.Command) {
	usual := "local"
	if a.Engine != nil {
		usual = engineTemporal
	}
	a.engine.name = newEnum(usual, "local", engineTemporal)
	flags := root.PersistentFlags()
	enumFlag(root, flags, &a.engine.name, "engine", "", "what drives runs: local (this process) or temporal (workers of a Temporal cluster,\nsee graphrun worker)")
	setting(flags, "engine")
	s := &a.engine.settings
	for _, f := range []struct {
		to          *string
		name, usage string
	}{
		{&s.Address, "address", "HOST:PORT of the cluster (default: 127.0.0.1:7233)"},
		{&s.Namespace, "namespace", "NAMESPACE of the runs (default: default)"},
		{&s.TaskQueue, "task-queue", "QUEUE of the workers (default: graphrun)"},
		{&s.Cert, "cert", "FILE of the client's certificate"},
		{&s.Key, "key", "FILE of its key"},
		{&s.CA, "ca", "FILE of the authority that signed the cluster's certificate"},
		{&s.ServerName, "server-name", "NAME in the cluster's certificate"},
		{&s.APIKey, "api-key", "KEY for the cluster; better in GRAPHRUN_TEMPORAL_API_KEY"},
		{&s.Payloads, "payloads", "FOLDER or s3://BUCKET/PREFIX of large values and logs, which all workers and clients share"},
	} {
		name := "temporal-" + f.name
		flags.StringVar(f.to, name, "", f.usage)
		setting(flags, name)
		hide(root, name)
	}
	flags.BoolVar(&s.TLS, "temporal-tls", false, "use TLS")
	setting(flags, "temporal-tls")
	hide(root, "temporal-tls")
}

// hide keeps a flag out of help: it is for few, and docs/temporal.md has it.
func hide(root *cobra.Command, name string) { root.PersistentFlags().Lookup(name).Hidden = true }

// onCluster reports whether runs are those of a cluster.
func (a *app) onCluster() bool { return a.engine.name.value == engineTemporal }

// cluster is the store of the cluster's runs.
func (a *app) cluster(ctx context.Context) (ClusterStore, error) {
	if a.engine.store != nil {
		return a.engine.store, nil
	}
	engine, err := a.Engine(a.engine.settings)
	if err != nil {
		return nil, err
	}
	a.engine.store = engine.Store(ctx)
	a.store.open = a.engine.store
	return a.engine.store, nil
}

// handOver lets the program that has the engine do what this one was called for; it
// returns only when that has ended or can't be.
func (a *app) handOver() error {
	path, err := findEngine()
	if err != nil {
		return usage(err)
	}
	return a.becomeProgram(path)
}

// findEngine finds the program beside this one or in PATH.
func findEngine() (string, error) {
	if self, err := os.Executable(); err == nil {
		if path, err := exec.LookPath(filepath.Join(filepath.Dir(self), engineProgram)); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath(engineProgram)
	if err == nil {
		return path, nil
	}
	return "", fmt.Errorf("--engine temporal needs the program %s, which is not beside graphrun and not in PATH; "+
		"it is in the archive of every release, or: go install github.com/graphrun/graphrun/temporal/cmd/%s@latest", engineProgram, engineProgram)
}

// asChild runs a program with the streams of this one.
func (a *app) asChild(path string) error {
	child := exec.Command(path, a.Args...)
	child.Stdin, child.Stdout, child.Stderr = a.Stdin, a.Stdout, a.Stderr
	if err := child.Start(); err != nil {
		return err
	}
	signals := a.signals()
	defer signals.stop()
	done := make(chan error, 1)
	go func() { done <- child.Wait() }()
	for {
		select {
		case sig := <-signals.c:
			_ = child.Process.Signal(sig)
		case err := <-done:
			var ended *exec.ExitError
			if errors.As(err, &ended) && ended.ExitCode() > 0 {
				return silent(ended.ExitCode())
			}
			return err
		}
	}
}
