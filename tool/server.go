// One MCP server: started when it is first needed, started once more when it
// dies, its tools asked for once a start.

package tool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/schema"
)

// maxStarts is how often a server is started for one run: a server that dies
// again is broken, and starting it for every call would hide that.
const maxStarts = 2

// startTime bounds a start until the server has listed its tools.
const startTime = time.Minute

// server is a declared server. The holder of turn owns link and starts.
type server struct {
	name         string
	command      []any // or
	url          string
	env, headers map[string]any
	envPass      any // as the key has it
	dir          string
	roots        []string // paths, relative to the folder of the graph
	opts         *Options

	turn   chan struct{} // holds one token
	link   *link         // nil: not connected
	starts int
	died   string // what the last connection died of
	// stray are lines of its stdout that were no messages.
	stray chan string
}

// link is one connection to a server.
type link struct {
	session *mcp.ClientSession
	// members are the server's tools, stale that it has told of others.
	members atomic.Pointer[[]member]
	stale   atomic.Bool
	// progress is what the server says of calls that go on, asking what it asks.
	progress progress
	asking   *asking
	// stop ends the connection and what runs behind it.
	stop func() error
	// gone is closed when the connection has ended; lastWords is what the
	// server's stderr ended with.
	gone      chan struct{}
	lastWords func() string
}

// member is a tool of a server.
type member struct {
	Tool
	// schema is nil when it is not one that we can check with: then the server
	// alone checks.
	schema *schema.Schema
	// repeatable says that calling twice does no more than calling once.
	repeatable bool
}

// declareServer reads the `mcp` block.
func declareServer(name string, fields map[string]any, opts *Options) (*server, error) {
	s := &server{name: name, url: text(fields["url"]), dir: text(fields["dir"]), opts: opts, turn: make(chan struct{}, 1), stray: make(chan string, 10)}
	s.command, _ = fields["command"].([]any)
	given, _ := fields["roots"].([]any)
	for _, root := range given {
		s.roots = append(s.roots, eval.Text(root))
	}
	if len(s.command) == 0 && s.url == "" {
		return nil, errors.New("mcp: it has neither command nor url")
	}
	s.turn <- struct{}{}
	return s, nil
}

// list returns the server's tools under their own names.
func (s *server) list(ctx context.Context, actor Actor) ([]Tool, error) {
	l, err := s.connected(ctx, actor)
	if err != nil {
		return nil, err
	}
	return l.tools(), nil
}

func (l *link) tools() []Tool {
	members := *l.members.Load()
	out := make([]Tool, len(members))
	for i := range members {
		out[i] = members[i].Tool
	}
	return out
}

// call calls one of the server's tools. A call that the server died of is made
// again only if that can do no harm.
func (s *server) call(ctx context.Context, actor Actor, name string, call Call) (any, error) {
	for first := true; ; first = false {
		l, err := s.connected(ctx, actor)
		if err != nil {
			return nil, err
		}
		members := *l.members.Load()
		i := slices.IndexFunc(members, func(m member) bool { return m.Name == name })
		if i < 0 {
			return nil, noMember(s.name, name, l.tools())
		}
		m := &members[i]
		given, err := checkArgs(s.name+"."+name, m.schema, call.Args)
		if err != nil {
			return nil, err
		}
		params := &mcp.CallToolParams{Name: name, Arguments: given}
		if call.TraceParent != "" {
			params.Meta = mcp.Meta{"traceparent": call.TraceParent}
		}
		token := l.progress.begin(func(p *mcp.ProgressNotificationParams) {
			actor.Progress(s.name+"."+name, p.Message, p.Progress, p.Total)
		})
		params.SetProgressToken(token)
		calling, asked, end := l.asking.begin(ctx, actor, s.name+"."+name)
		result, err := l.session.CallTool(calling, params)
		end()
		s.warn(actor)
		switch {
		case l.asking.asked(asked):
			return nil, &Error{Message: fmt.Sprintf("tool %q waits for an answer of a person", s.name+"."+name), NotMade: true}
		case err == nil:
			return s.result(name, result)
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case needsTask(err):
			return nil, &Error{Message: fmt.Sprintf("tool %q runs as a task only, which graphrun does not ask for; the server says: %v", s.name+"."+name, err)}
		case !lost(err):
			return nil, &Error{Message: fmt.Sprintf("tool %q: %v", s.name+"."+name, err)}
		}
		s.drop(ctx, actor, l, err)
		if !first || !m.repeatable {
			return nil, &Error{Message: fmt.Sprintf("server %q went away during the call of %q: %s", s.name, name, s.death(ctx))}
		}
	}
}

// connected returns the connection, which it makes when there is none.
func (s *server) connected(ctx context.Context, actor Actor) (*link, error) {
	select {
	case <-s.turn:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { s.turn <- struct{}{} }()
	if s.link != nil {
		select {
		case <-s.link.gone:
			s.bury(actor, s.link, mcp.ErrConnectionClosed)
		default:
			return s.link, s.link.refresh(ctx)
		}
	}
	if s.starts >= maxStarts {
		return nil, &Error{Message: fmt.Sprintf("server %q went away %d times and is not started again: %s", s.name, s.starts, s.died)}
	}
	s.starts++
	l, err := s.connect(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		s.died = err.Error()
		return nil, &Error{Message: fmt.Sprintf("can't start server %q: %v", s.name, err)}
	}
	s.link = l
	s.warn(actor)
	return l, nil
}

// warn tells of what the server has printed between its messages.
func (s *server) warn(actor Actor) {
	for {
		select {
		case line := <-s.stray:
			actor.Warn(fmt.Sprintf("server %q printed a line on stdout that is no message of the protocol; it is skipped: %s", s.name, line))
		default:
			return
		}
	}
}

// refresh asks for the tools again if the server has told that they are others.
func (l *link) refresh(ctx context.Context) error {
	if !l.stale.Swap(false) {
		return nil
	}
	list, err := members(ctx, l.session)
	if err != nil {
		l.stale.Store(true)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &Error{Message: "the server's tools can't be listed: " + err.Error()}
	}
	l.members.Store(&list)
	return nil
}

// drop forgets a connection that a call found lost, unless that is done already.
func (s *server) drop(ctx context.Context, actor Actor, l *link, cause error) {
	select {
	case <-s.turn:
	case <-ctx.Done():
		return
	}
	defer func() { s.turn <- struct{}{} }()
	if s.link == l {
		s.bury(actor, l, cause)
	}
}

// bury ends what is left of a connection, and warns.
func (s *server) bury(actor Actor, l *link, cause error) {
	s.link = nil
	_ = l.stop()
	s.died = cause.Error()
	if words := l.lastWords(); words != "" {
		s.died = words
	}
	actor.Warn(fmt.Sprintf("server %q went away: %s", s.name, s.died))
}

// death is what the last connection died of.
func (s *server) death(ctx context.Context) string {
	select {
	case <-s.turn:
	case <-ctx.Done():
		return "the call was given up"
	}
	defer func() { s.turn <- struct{}{} }()
	return s.died
}

// close ends the server.
func (s *server) close() error {
	<-s.turn
	defer func() { s.turn <- struct{}{} }()
	s.starts = maxStarts
	if s.link == nil {
		return nil
	}
	l := s.link
	s.link, s.died = nil, "the run is over"
	return l.stop()
}

// result turns an answer into plain data, or into an error when it is one.
func (s *server) result(name string, answer *mcp.CallToolResult) (any, error) {
	value, err := content(answer)
	if err != nil {
		return nil, &Error{Message: fmt.Sprintf("tool %q gave an answer that can't be read: %v", s.name+"."+name, err)}
	}
	if answer.IsError {
		return nil, &Error{Message: Text(eval.Brief(value))}
	}
	return value, nil
}
