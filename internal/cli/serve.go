// The commands serve, mcp and lsp.

package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/internal/bounded"
	"github.com/graphrun/graphrun/internal/catalog"
	"github.com/graphrun/graphrun/internal/fleet"
	"github.com/graphrun/graphrun/internal/lsp"
	"github.com/graphrun/graphrun/internal/mcpserver"
	"github.com/graphrun/graphrun/internal/serve"
	"github.com/graphrun/graphrun/internal/trigger"
	"github.com/graphrun/graphrun/node"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/store/sqlite"
	"github.com/graphrun/graphrun/spec"
)

type serveFlags struct {
	cfg       serve.Config
	listen    string
	tokenFile string
	open      bool
	maxRuns   int
}

func newServeCommand(a *app) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:               "serve [DIR]",
		Args:              requireArgs(0, 1, "one folder"),
		ValidArgsFunction: completeFiles,
		PreRunE:           a.loadFolderSettings,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.serveFolder(cmd, &f, firstArgument(args, ".")) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", "127.0.0.1:7300", "HOST:PORT to listen on; port 0 takes a free one")
	flags.BoolVar(&f.open, "open", false, "open the page in a browser")
	flags.BoolVar(&f.cfg.ReadOnly, "read-only", false, "refuse requests that change anything")
	flags.StringVar(&f.tokenFile, "token-file", "", "`FILE` that holds the token, of at least 16 characters")
	flags.StringArrayVar(&f.cfg.Hosts, "host", nil, "host NAME that requests may use, for example behind a proxy; repeatable")
	f.addMaxRuns(cmd)
	addOutput(cmd)
	cmd.Flag("output").Usage = "format of the printed link: json is {\"url\": …}"
	markSettings(flags, "listen", "read-only", "token-file")
	return cmd
}

func (f *serveFlags) addMaxRuns(cmd *cobra.Command) {
	cmd.Flags().IntVar(&f.maxRuns, "max-runs", 100, "maximum number of runs to drive at once")
	markSettings(cmd.Flags(), "max-runs")
}

// Grace periods when a server stops: for nodes to end, and for responses to be sent.
const (
	stopGrace = 5 * time.Second
	sendGrace = 2 * time.Second
)

// serveFolder serves the flows of a folder until a signal.
func (a *app) serveFolder(cmd *cobra.Command, f *serveFlags, dir string) error {
	host, _, err := net.SplitHostPort(f.listen)
	if err != nil {
		return usagef("--listen %q: want HOST:PORT", f.listen)
	}
	f.cfg.Loopback = host == "localhost" || net.ParseIP(host).IsLoopback()
	if !f.cfg.Loopback && f.tokenFile == "" {
		return usagef("--listen %s: others than this machine are served only with --token-file FILE", f.listen)
	}
	if f.cfg.Token, err = f.readToken(); err != nil {
		return err
	}
	s, err := a.newFlowServer(f, dir)
	if err != nil {
		return err
	}
	defer func() { _ = s.flows.Close() }() // it was only read
	if found := a.triggers.ResolveFlows(s.flows); len(found) > 0 {
		return asUsageError(&spec.InvalidError{Findings: found})
	}
	listener, err := net.Listen("tcp", f.listen)
	if err != nil {
		return usagef("--listen %s: %w", f.listen, err)
	}
	link := "http://" + formatAddress(listener.Addr()) + "/"
	if f.tokenFile == "" { // a token from a file must not be printed
		link += "?token=" + f.cfg.Token
	}
	if err := a.printValue(cmd, map[string]string{"url": link}, link+"\n"); err != nil {
		return errors.Join(err, listener.Close())
	}
	a.printNote(fmt.Sprintf("serving the flows below %s and the runs of %s; Ctrl-C stops it", shortPath(s.flows.Dir()), a.storeName()))
	if f.open {
		openBrowser(link)
	}
	return s.serveUntilSignal(cmd.Context(), listener)
}

// readToken returns the token of the file, or a new one.
func (f *serveFlags) readToken() (string, error) {
	if f.tokenFile == "" {
		return rand.Text(), nil
	}
	src, err := bounded.ReadArgument(f.tokenFile, bounded.Text)
	if err != nil {
		return "", usagef("--token-file: %w", err)
	}
	token := strings.TrimSpace(string(src))
	if len(token) < 16 || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' || r == ';' || r == ',' || r == '"' || r == '\\' }) {
		return "", usagef("--token-file %s: must hold one word of at least 16 characters, such as openssl rand -hex 24 prints", f.tokenFile)
	}
	return token, nil
}

type flowServer struct {
	app    *app
	flows  *catalog.Catalog
	fleet  *fleet.Fleet
	server *serve.Server
	tools  mcpserver.Config
	// triggers start runs by cron and webhook, unless readOnly is set.
	triggers *trigger.Triggers
	kill     chan struct{}
	readOnly bool
}

// newFlowServer makes a server of a folder.
func (a *app) newFlowServer(f *serveFlags, dir string) (*flowServer, error) {
	if f.maxRuns < 1 {
		return nil, usagef("--max-runs %d: must be at least 1", f.maxRuns)
	}
	s, cfg := &flowServer{app: a, kill: make(chan struct{}), readOnly: f.cfg.ReadOnly}, f.cfg
	var err error
	if s.flows, err = catalog.Open(dir, catalog.Rules{Optional: a.rules.EnablesOptional(nil), Apply: a.rules.SelectShown}); err != nil {
		return nil, asUsageError(err)
	}
	kept, err := a.openServedStore(cfg.ReadOnly)
	if err != nil {
		return nil, err
	}
	r, err := a.newRunner(kept, node.Options{Kill: s.kill})
	if err != nil {
		return nil, err
	}
	marks := ""
	if path := a.storePath(); path != "" && !a.usesCluster() {
		marks = path + ".serve"
	}
	s.fleet = fleet.New(fleet.Config{Runner: r, Store: kept, Max: f.maxRuns, Marks: marks, Home: s.flows.Dir(), Now: a.Now, Log: a.printNote})
	cfg.Catalog, cfg.Store, cfg.StoreName, cfg.Runner, cfg.Fleet = s.flows, kept, a.storeName(), r, s.fleet
	cfg.Version, cfg.Now = readBuildVersion().Version, a.Now
	s.tools = mcpserver.Config{Catalog: s.flows, Fleet: s.fleet, Runner: r, Version: cfg.Version}
	s.triggers = trigger.New(trigger.Config{
		Triggers: a.triggers.Triggers, Store: kept, Clock: a.clock, Log: a.printNote,
		Start: func(flow string, opts runner.Options) error { _, err := s.server.Start(flow, opts); return err },
	})
	cfg.Triggers = a.triggers.Triggers
	if !cfg.ReadOnly { // both start runs
		cfg.Extra = []serve.Extra{
			{Pattern: "/mcp", Handler: mcpserver.Handler(s.tools)},
			{Pattern: "POST " + trigger.Prefix + "/{hook...}", Handler: s.triggers, Open: true},
		}
	}
	s.server = serve.New(cfg)
	return s, nil
}

// openServedStore opens the store of a server, which may be in memory.
func (a *app) openServedStore(readOnly bool) (store.Store, error) {
	if a.usesCluster() && !readOnly {
		return nil, usagef("serve --engine temporal shows the runs of the cluster; it takes --read-only, since its workers drive them")
	}
	if a.storePath() == "" && !a.usesCluster() {
		a.store.open = &store.Memory{}
		return a.store.open, nil
	}
	if !readOnly || a.usesCluster() {
		return a.openStore()
	}
	s, err := a.openFile(sqlite.Options{ReadOnly: true})
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w\n--read-only serves an existing store", err)
	}
	return s, err
}

// serveUntilSignal serves requests until a signal, then shuts down gracefully.
func (s *flowServer) serveUntilSignal(ctx context.Context, listener net.Listener) error {
	stopping := func() {
		s.app.printNote("stopping: runs pause, and the next serve continues them; interrupt again to end running programs at once")
	}
	_, err := runUntilInterrupted(ctx, s.app, stopping, s.kill, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, s.serveUntilDone(ctx, listener)
	})
	return err
}

// serveUntilDone serves requests until ctx ends, then pauses the runs.
func (s *flowServer) serveUntilDone(ctx context.Context, listener net.Listener) error {
	resumed, failed := make(chan error, 1), make(chan error, 1)
	go func() { resumed <- s.fleet.ResumeRuns(ctx) }()
	if !s.readOnly {
		go s.triggers.Run(ctx)
	}
	httpServer := serve.Listen(s.server)
	go func() { failed <- httpServer.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case err := <-resumed: // nil when ctx ends
		if err != nil {
			return err
		}
	}
	s.fleet.Stop(stopGrace)
	s.server.Close()
	sendCtx, cancel := context.WithTimeout(context.Background(), sendGrace)
	defer cancel()
	if err := httpServer.Shutdown(sendCtx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return httpServer.Close()
}

// formatAddress returns an address that a browser on this machine can open.
func formatAddress(addr net.Addr) string {
	host, port, _ := net.SplitHostPort(addr.String()) // no error for the address of a TCP listener
	if net.ParseIP(host).IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// openBrowser opens a page. Failures are ignored: the link is printed.
func openBrowser(link string) {
	name, args := "xdg-open", []string{link}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", link}
	}
	go func() { _ = exec.Command(name, args...).Run() }()
}

func newMCPCommand(a *app) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:               "mcp [DIR]",
		Args:              requireArgs(0, 1, "one folder"),
		ValidArgsFunction: completeFiles,
		PreRunE:           a.loadFolderSettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.serveMCP(cmd.Context(), &f, firstArgument(args, "."))
		},
	}
	f.addMaxRuns(cmd)
	return cmd
}

func (a *app) serveMCP(ctx context.Context, f *serveFlags, dir string) error {
	s, err := a.newFlowServer(f, dir)
	if err != nil {
		return err
	}
	defer func() { _ = s.flows.Close() }() // it was only read
	ctx, stop := a.cancelOnInterrupt(ctx)
	defer stop()
	resumed := make(chan error, 1)
	go func() { resumed <- s.fleet.ResumeRuns(ctx) }()
	stdout := struct {
		io.Writer
		io.Closer
	}{a.Stdout, io.NopCloser(nil)} // it stays open
	err = mcpserver.Serve(ctx, s.tools, io.NopCloser(a.Stdin), stdout)
	stop()
	s.fleet.Stop(stopGrace)
	if errors.Is(err, context.Canceled) || errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, <-resumed)
}

func newLSPCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "lsp",
		RunE: func(cmd *cobra.Command, _ []string) error {
			server := lsp.New(lsp.Options{Version: readBuildVersion().Version, Optional: a.rules.EnablesOptional(nil), Shown: a.rules.SelectShown})
			return server.Serve(cmd.Context(), a.Stdin, a.Stdout)
		},
	}
	cmd.Flags().Bool("stdio", true, "use stdin and stdout; this is always so, but clients such as VS Code pass the flag")
	return cmd
}
