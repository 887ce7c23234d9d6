// Package lsp is a language server for graph files. Its findings and fixes are those of
// `graphrun validate`.
package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/graphrun/graphrun/flowtest"
	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/lint"
	"github.com/graphrun/graphrun/spec"
)

// Options configure a Server.
type Options struct {
	Version string
	// Shown filters findings by settings. If it is nil, all are shown.
	Shown func(found spec.Diagnostics) spec.Diagnostics
	// Optional also checks rules that are off by default.
	Optional bool
}

// Server serves one editor. It answers requests in order. A second goroutine checks the
// open documents and publishes diagnostics with the version that they belong to.
type Server struct {
	opts  Options
	conn  *jsonrpc2.Conn
	dirty chan struct{} // signals a change

	folders []string // of the workspace, set by initialize

	mu   sync.Mutex // guards the fields below
	open map[string]*document
}

// document is an open file.
type document struct {
	uri, path string
	version   int
	text      *text
	names     *names // of the last text that was YAML
	checked   inspect.Checked
	last      *spec.Graph // the last valid graph
	current   int         // the version of checked
	graph     bool        // the file is a graph file, or was one before the latest edits
}

// New returns a server.
func New(opts Options) *Server {
	if opts.Shown == nil {
		opts.Shown = func(found spec.Diagnostics) spec.Diagnostics { return found }
	}
	return &Server{opts: opts, open: map[string]*document{}, dirty: make(chan struct{}, 1)}
}

// stdio joins both streams.
type stdio struct {
	io.Reader
	io.Writer
}

// Close closes the streams that can be closed, so that the reader ends.
func (s stdio) Close() error {
	var failed error
	for _, stream := range []any{s.Reader, s.Writer} {
		if c, ok := stream.(io.Closer); ok {
			failed = errors.Join(failed, c.Close())
		}
	}
	return failed
}

// Serve answers requests until the editor sends exit or closes its stream.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	stream := jsonrpc2.NewBufferedStream(stdio{in, out}, jsonrpc2.VSCodeObjectCodec{})
	ready := make(chan struct{})
	handler := jsonrpc2.HandlerWithError(func(ctx context.Context, _ *jsonrpc2.Conn, r *jsonrpc2.Request) (any, error) {
		<-ready
		return s.answer(r, stop)
	})
	s.conn = jsonrpc2.NewConn(ctx, stream, handler.SuppressErrClosed())
	close(ready)
	go s.check(ctx)
	select {
	case <-s.conn.DisconnectNotify():
		return nil
	case <-ctx.Done():
		if err := s.conn.Close(); !errors.Is(err, jsonrpc2.ErrClosed) {
			return err
		}
		return nil
	}
}

// answer handles a request or a notification.
func (s *Server) answer(r *jsonrpc2.Request, exit func()) (any, error) {
	var p params
	if r.Params != nil {
		if err := json.Unmarshal(*r.Params, &p); err != nil {
			return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: err.Error()}
		}
	}
	switch r.Method {
	case "initialize":
		s.folders = p.folders()
		return capabilities(s.opts.Version, p.Init.Lenses), nil
	case "exit":
		exit()
		return nil, nil
	case "textDocument/didOpen", "textDocument/didChange", "textDocument/didClose":
		s.change(r.Method, &p)
		return nil, nil
	}
	if r.Method == "codeAction/resolve" {
		return generateTests(&p)
	}
	answers := map[string]func(d *document, p *params) (any, error){
		"textDocument/hover": hoverAt, "textDocument/completion": complete, "textDocument/definition": s.definition,
		"textDocument/references": references, "textDocument/documentHighlight": highlights, "textDocument/prepareRename": prepareRename,
		"textDocument/rename": s.rename, "textDocument/codeAction": s.codeActions, "textDocument/documentSymbol": symbols, "textDocument/formatting": format,
		"textDocument/foldingRange": folds, "textDocument/semanticTokens/full": tokens, "textDocument/signatureHelp": signatureAt, "textDocument/codeLens": lenses,
	}
	if answer := answers[r.Method]; answer != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		d := s.open[p.TextDocument.URI]
		if d == nil {
			return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: "the document is not open: " + p.TextDocument.URI}
		}
		return answer(d, &p)
	}
	if r.Method == "shutdown" || r.Notif {
		return nil, nil
	}
	return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: "method not supported: " + r.Method}
}

// change applies didOpen, didChange and didClose.
func (s *Server) change(method string, p *params) {
	s.mu.Lock()
	defer s.mu.Unlock()
	uri := p.TextDocument.URI
	d := s.open[uri]
	switch {
	case method == "textDocument/didClose":
		delete(s.open, uri)
		_ = s.conn.Notify(context.Background(), "textDocument/publishDiagnostics", object{"uri": uri, "diagnostics": []diagnostic{}})
		return
	case method == "textDocument/didOpen":
		d = &document{uri: uri, path: pathOf(uri), text: newText(p.TextDocument.Text), current: -1}
		s.open[uri] = d
	case d == nil:
		return
	}
	d.version = p.TextDocument.Version
	for _, c := range p.ContentChanges {
		if c.Range == nil {
			d.text = newText(c.Text)
		} else {
			d.text = d.text.replace(*c.Range, c.Text)
		}
	}
	if n := namesOf(d.path, d.text); n != nil {
		d.names = n
	}
	select {
	case s.dirty <- struct{}{}:
	default:
	}
}

// check checks all open documents after each change, because one graph may run another.
// It drops the result of a document that has changed in the meantime.
func (s *Server) check(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.dirty:
		}
		s.mu.Lock()
		uris := slices.Sorted(maps.Keys(s.open))
		s.mu.Unlock()
		for _, uri := range uris {
			s.checkOne(ctx, uri)
		}
	}
}

func (s *Server) checkOne(ctx context.Context, uri string) {
	s.mu.Lock()
	d := s.open[uri]
	if d == nil {
		s.mu.Unlock()
		return
	}
	version, text := d.version, d.text
	d.graph = d.graph || spec.IsGraph([]byte(text.src))
	graph := d.graph
	path := d.path
	s.mu.Unlock()
	diagnostics := []diagnostic{}
	var checked inspect.Checked
	switch {
	case flowtest.IsTestFile(path):
		_, checked.Found, _ = flowtest.Parse(flowtest.Config{}, path, []byte(text.src)) // a flow that can't be read is a finding
	case graph:
		checked = inspect.CheckWith(path, []byte(text.src), s.opts.Optional, s.load(path))
	}
	for _, found := range s.opts.Shown(checked.Found) {
		if found.File == nil || found.File.Name == path {
			diagnostics = append(diagnostics, diagnosticOf(text, uri, &found))
		}
	}
	s.mu.Lock()
	stands := s.open[uri] == d && d.version == version
	if stands {
		d.checked, d.current = checked, version
		if checked.Graph != nil {
			d.last = checked.Graph
		}
	}
	s.mu.Unlock()
	if stands {
		_ = s.conn.Notify(ctx, "textDocument/publishDiagnostics", object{"uri": uri, "version": version, "diagnostics": diagnostics})
	}
}

// load returns a loader of other files. It prefers the text in the editor to the disk.
func (s *Server) load(beside string) func(path string) ([]byte, error) {
	disk := spec.Beside(beside)
	return func(path string) ([]byte, error) {
		whole := filepath.FromSlash(path)
		if !filepath.IsAbs(whole) {
			whole = filepath.Join(filepath.Dir(beside), whole)
		}
		s.mu.Lock()
		d := s.open[uriOf(whole)]
		s.mu.Unlock()
		if d != nil {
			return []byte(d.text.src), nil
		}
		return disk(path)
	}
}

func diagnosticOf(t *text, uri string, found *spec.Diagnostic) diagnostic {
	severity := map[spec.Severity]int{spec.Error: 1, spec.Warning: 2, spec.Info: 3}[found.Severity]
	out := diagnostic{Range: t.span(found.Span.From, found.Span.To), Severity: severity, Code: found.Rule, Source: "graphrun", Message: found.Message}
	if _, known := lint.FindRule(found.Rule); known {
		out.Rule = object{"href": "https://github.com/graphrun/graphrun/blob/main/docs/reference/rules.md#" + found.Rule}
	}
	for _, r := range found.Related {
		if r.File == nil || found.File == nil || r.File == found.File {
			out.Related = append(out.Related, object{"location": location{uri, t.span(r.Span.From, r.Span.To)}, "message": r.Message})
		}
	}
	return out
}

// pathOf returns the path of a file URI, and any other URI unchanged.
func pathOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" {
		return uri
	}
	path := u.Path
	if runtime.GOOS == "windows" {
		path = strings.TrimPrefix(path, "/")
	}
	return filepath.FromSlash(path)
}

func uriOf(path string) string {
	if runtime.GOOS == "windows" {
		path = "/" + filepath.ToSlash(path)
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}
