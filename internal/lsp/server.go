// Package lsp is a language server for graph files with the findings and fixes of `graphrun validate`.
package lsp

import (
	"context"
	"encoding/json"
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
	opts    Options
	dirty   chan struct{} // signals a change
	folders []string      // of the workspace, set by initialize

	mu   sync.Mutex // guards the fields below
	open map[string]*document
}

type document struct {
	uri, path      string
	version        int
	text           *text
	names          *names          // of the last text that was a YAML map, or empty
	isGraph        bool            // the file is a graph file, or was one before the latest edits
	checked        inspect.Checked // the last check
	checkedVersion int             // the version of checked
}

// New returns a server.
func New(opts Options) *Server {
	return &Server{opts: opts, open: map[string]*document{}, dirty: make(chan struct{}, 1)}
}

// Serve answers requests until the editor sends exit or closes its stream.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	handler := jsonrpc2.HandlerWithError(func(ctx context.Context, c *jsonrpc2.Conn, r *jsonrpc2.Request) (any, error) {
		if r.Method == "exit" {
			stop()
		}
		return s.answerRequest(ctx, c, r)
	})
	both := struct { // they end with the process
		io.ReadCloser
		io.Writer
	}{io.NopCloser(in), out}
	c := jsonrpc2.NewConn(ctx, jsonrpc2.NewBufferedStream(both, jsonrpc2.VSCodeObjectCodec{}), handler.SuppressErrClosed())
	go s.checkChanges(ctx, c)
	select {
	case <-c.DisconnectNotify():
	case <-ctx.Done():
	}
	return nil
}

func (s *Server) answerRequest(ctx context.Context, c *jsonrpc2.Conn, r *jsonrpc2.Request) (any, error) {
	var p params
	if r.Params != nil {
		if err := json.Unmarshal(*r.Params, &p); err != nil {
			return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: err.Error()}
		}
	}
	if r.Method == "codeAction/resolve" { // generating is slow and needs no open document
		return generateTests(&p)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.open[p.TextDocument.URI]
	answers := map[string]func(d *document, p *params) (any, error){
		"textDocument/hover": describePosition, "textDocument/completion": listCompletions, "textDocument/definition": s.findDefinition,
		"textDocument/documentHighlight": listHighlights, "textDocument/foldingRange": listFolds, "textDocument/semanticTokens/full": listTokens,
		"textDocument/references": listReferences, "textDocument/prepareRename": prepareRename,
		"textDocument/rename": s.renameSymbol, "textDocument/codeAction": s.listActions, "textDocument/documentSymbol": listSymbols, "textDocument/formatting": formatDocument,
		"textDocument/signatureHelp": describeSignature, "textDocument/codeLens": listLenses,
	}
	switch answer := answers[r.Method]; {
	case answer != nil && d == nil:
		return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: "the document is not open: " + p.TextDocument.URI}
	case answer != nil:
		return answer(d, &p)
	}
	switch r.Method {
	case "initialize":
		if len(p.Folders) == 0 && p.RootURI != "" {
			s.folders = []string{pathFromURI(p.RootURI)}
		}
		for _, f := range p.Folders {
			s.folders = append(s.folders, pathFromURI(f.URI))
		}
		return describeServer(s.opts.Version, p.Init.Lenses), nil
	case "textDocument/didOpen":
		d = &document{uri: p.TextDocument.URI, path: pathFromURI(p.TextDocument.URI), text: newText(p.TextDocument.Text), names: &names{}, checkedVersion: -1}
		s.open[d.uri] = d
		s.applyChanges(d, &p)
	case "textDocument/didChange":
		if d != nil {
			s.applyChanges(d, &p)
		}
	case "textDocument/didClose":
		delete(s.open, p.TextDocument.URI)
		return nil, c.Notify(ctx, "textDocument/publishDiagnostics", object{"uri": p.TextDocument.URI, "diagnostics": []object{}})
	default:
		if r.Method != "shutdown" && !r.Notif {
			return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: "method not supported: " + r.Method}
		}
	}
	return nil, nil
}

// applyChanges applies edits to a document and requests a check.
func (s *Server) applyChanges(d *document, p *params) {
	d.version = p.TextDocument.Version
	for _, c := range p.ContentChanges {
		if c.Range == nil {
			d.text = newText(c.Text)
		} else {
			d.text = d.text.replaceRange(*c.Range, c.Text)
		}
	}
	if n := indexNames(d.path, d.text); n != nil {
		d.names = n
	}
	select {
	case s.dirty <- struct{}{}:
	default:
	}
}

// checkChanges checks all open documents after each change, because one graph may run another.
func (s *Server) checkChanges(ctx context.Context, c *jsonrpc2.Conn) {
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
			if found := s.checkDocument(uri); found != nil {
				_ = c.Notify(ctx, "textDocument/publishDiagnostics", found) // the editor may be gone
			}
		}
	}
}

// checkDocument checks a document and returns its diagnostics, or nil if it has changed meanwhile.
func (s *Server) checkDocument(uri string) object {
	s.mu.Lock()
	d := s.open[uri]
	if d == nil {
		s.mu.Unlock()
		return nil
	}
	d.isGraph = d.isGraph || spec.IsGraph([]byte(d.text.src))
	before, texts := *d, s.openTexts()
	s.mu.Unlock()
	var checked inspect.Checked
	switch src := []byte(before.text.src); {
	case flowtest.IsTestFile(d.path):
		_, checked.Found, _ = flowtest.Parse(flowtest.Config{}, d.path, src) // a flow that can't be read is a finding
	case before.isGraph:
		checked = inspect.CheckWith(d.path, src, s.opts.Optional, loadBeside(d.path, texts))
	}
	shown := checked.Found
	if s.opts.Shown != nil {
		shown = s.opts.Shown(shown)
	}
	diagnostics := []object{}
	for i := range shown {
		if found := &shown[i]; found.File == nil || found.File.Name == d.path {
			diagnostics = append(diagnostics, before.newDiagnostic(found))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[uri] != d || d.version != before.version {
		return nil
	}
	d.checked, d.checkedVersion = checked, d.version
	return object{"uri": uri, "version": d.version, "diagnostics": diagnostics}
}

// openTexts returns the texts of all open files by path. The caller holds the mutex.
func (s *Server) openTexts() map[string]string {
	out := map[string]string{}
	for _, d := range s.open {
		out[d.path] = d.text.src
	}
	return out
}

// loadBeside returns a loader of the files that a graph names. It prefers texts to the disk.
func loadBeside(graph string, texts map[string]string) func(path string) ([]byte, error) {
	disk := spec.NewLoader(graph)
	return func(path string) ([]byte, error) {
		if src, ok := texts[spec.ResolvePath(graph, path)]; ok {
			return []byte(src), nil
		}
		return disk(path)
	}
}

func (d *document) newDiagnostic(found *spec.Diagnostic) object {
	severity := map[spec.Severity]int{spec.Error: 1, spec.Warning: 2, spec.Info: 3}[found.Severity] // of the protocol
	out := object{
		"range": d.text.span(found.Span.From, found.Span.To), "severity": severity, "code": found.Rule, "source": "graphrun", "message": found.Message,
	}
	if _, known := lint.FindRule(found.Rule); known {
		out["codeDescription"] = object{"href": "https://github.com/graphrun/graphrun/blob/main/docs/reference/rules.md#" + found.Rule}
	}
	var related []object
	for _, r := range found.Related {
		if r.File == nil || found.File == nil || r.File == found.File {
			related = append(related, object{"location": d.newLocation(r.Span.From, r.Span.To), "message": r.Message})
		}
	}
	if related != nil {
		out["relatedInformation"] = related
	}
	return out
}

// pathFromURI returns the path of a file URI, and any other URI unchanged.
func pathFromURI(uri string) string {
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

func uriFromPath(path string) string {
	if runtime.GOOS == "windows" {
		path = "/" + filepath.ToSlash(path)
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}
