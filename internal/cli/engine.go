// Engines: this process or a cluster drives runs.

package cli

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/graphrun/graphrun/model/cassette"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

// Engine drives runs on a cluster. Its store reads them.
type Engine interface {
	// Store reads the runs of the cluster until ctx ends.
	Store(ctx context.Context) ClusterStore
	// Work runs a worker until ctx ends.
	Work(ctx context.Context, o WorkSettings) error
}

// ClusterStore is the store of a cluster's runs.
type ClusterStore interface {
	store.Store
	// Begin starts a run and follows it until it ends or pauses. If tape is not nil, answers of
	// models and tools are recorded on it or played from it.
	Begin(ctx context.Context, r *runner.Runner, flow *runner.Flow, opts runner.Options, tape *cassette.Cassette) (*runner.Result, error)
	// ForkOf forks a run and follows the new one.
	ForkOf(ctx context.Context, r *runner.Runner, runID string, opts runner.ForkOptions) (*runner.Result, error)
	// Resume continues a run and follows it. With g, it continues with another version of the
	// graph; see runner.ResumeWith.
	Resume(ctx context.Context, r *runner.Runner, runID string, g *spec.Graph, opts runner.Options) (*runner.Result, error)
}

// EngineSettings hold the address of the cluster; see docs/temporal.md.
type EngineSettings struct {
	Address, Namespace, TaskQueue     string
	TLS                               bool
	Cert, Key, CA, ServerName, APIKey string
	Payloads                          string
}

// WorkSettings are the settings of a worker.
type WorkSettings struct {
	// Queues name the task queues of nodes. Without any, the worker also drives runs.
	Queues   []string
	MaxTasks int
	MaxRuns  int
	// Heartbeat is the longest silence of a live worker.
	Heartbeat time.Duration
	// Ready is called when the worker takes tasks.
	Ready func(queue string)
}

// engineTemporal is the value of --engine for a Temporal cluster.
const engineTemporal = "temporal"

// engineProgram is the name of the program that contains the engine.
const engineProgram = "graphrun-temporal"

type engineFlags struct {
	name     enum
	settings EngineSettings
	store    ClusterStore // nil until opened
}

func (a *app) addEngineFlags(root *cobra.Command) {
	usual := "local"
	if a.Engine != nil {
		usual = engineTemporal
	}
	a.engine.name = newEnum(usual, "local", engineTemporal)
	flags := root.PersistentFlags()
	addEnumFlag(root, flags, &a.engine.name, "engine", "", "what drives runs: local (this process) or temporal (workers of a Temporal cluster,\nsee graphrun worker)")
	markSettings(flags, "engine")
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
		flags.StringVar(f.to, "temporal-"+f.name, "", f.usage)
	}
	flags.BoolVar(&s.TLS, "temporal-tls", false, "use TLS")
	flags.VisitAll(func(f *pflag.Flag) {
		if strings.HasPrefix(f.Name, "temporal-") { // hidden: docs/temporal.md lists them
			markSettings(flags, f.Name)
			f.Hidden = true
		}
	})
}

// usesCluster reports whether a cluster drives the runs.
func (a *app) usesCluster() bool { return a.engine.name.value == engineTemporal }

func (a *app) openCluster(ctx context.Context) (ClusterStore, error) {
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

// execEngineProgram replaces this process with the engine's program, from this program's folder or PATH.
func (a *app) execEngineProgram() error {
	self, _ := os.Executable() // on an error, only PATH is searched
	path, err := exec.LookPath(filepath.Join(filepath.Dir(self), engineProgram))
	if err != nil {
		path, err = exec.LookPath(engineProgram)
	}
	if err != nil {
		return usagef("--engine temporal needs the program %s, which is not beside graphrun and not in PATH; "+
			"it is in the archive of every release, or: go install github.com/graphrun/graphrun/temporal/cmd/%s@latest", engineProgram, engineProgram)
	}
	return a.replaceProcess(path)
}

// replaceProcess replaces this process with another program. It runs a child where the system
// or the streams do not allow that.
func (a *app) replaceProcess(path string) error {
	if runtime.GOOS == "windows" || a.Stdout != os.Stdout || a.Stderr != os.Stderr || a.Stdin != os.Stdin {
		return a.runChild(path)
	}
	return syscall.Exec(path, append([]string{path}, a.Args...), os.Environ())
}

// runChild runs a program with the streams of this one.
func (a *app) runChild(path string) error {
	child := exec.Command(path, a.Args...)
	child.Stdin, child.Stdout, child.Stderr = a.Stdin, a.Stdout, a.Stderr
	if err := child.Start(); err != nil {
		return err
	}
	signals, stop := a.watchSignals()
	defer stop()
	done := make(chan error, 1)
	go func() { done <- child.Wait() }()
	for {
		select {
		case sig := <-signals:
			_ = child.Process.Signal(sig)
		case err := <-done:
			if ended, ok := errors.AsType[*exec.ExitError](err); ok && ended.ExitCode() > 0 {
				return exitWith(ended.ExitCode())
			}
			return err
		}
	}
}

func newWorkerCommand(a *app) *cobra.Command {
	var o WorkSettings
	cmd := &cobra.Command{
		Use: "worker",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.Engine == nil {
				return a.execEngineProgram()
			}
			if o.MaxTasks < 0 || o.MaxRuns < 0 {
				return usagef("--max-tasks and --max-runs must be at least 0")
			}
			engine, err := a.Engine(a.engine.settings)
			if err != nil {
				return err
			}
			o.Ready = func(queue string) { a.printNote("worker takes tasks of queue " + queue) }
			ctx, stop := a.cancelOnInterrupt(cmd.Context())
			defer stop()
			return engine.Work(ctx, o)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&o.Queues, "queue", nil, "take only the tasks of nodes with queue: NAME; repeatable")
	flags.IntVar(&o.MaxTasks, "max-tasks", 0, "maximum number of tasks to run at once (default: 1000)")
	flags.IntVar(&o.MaxRuns, "max-runs", 0, "maximum number of runs to drive at once (default: 1000)")
	flags.DurationVar(&o.Heartbeat, "heartbeat", 0, "how long the worker may be silent before other workers run its tasks (default: 10s)")
	return cmd
}
