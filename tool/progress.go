// Progress notifications of a server about calls in flight.

package tool

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// progress passes progress notifications to their calls. The zero value works.
type progress struct {
	calls sync.Map // func(*mcp.ProgressNotificationParams) by token
	made  atomic.Int64
}

// lateCalls is how many calls later one is forgotten: notifications may come after its
// result.
const lateCalls = 100

// begin returns a token. hear receives its notifications.
func (p *progress) begin(hear func(*mcp.ProgressNotificationParams)) (token string) {
	n := p.made.Add(1)
	p.calls.Store(tokenOf(n), hear)
	p.calls.Delete(tokenOf(n - lateCalls))
	return tokenOf(n)
}

func tokenOf(call int64) string { return "call-" + strconv.FormatInt(call, 10) }

func (p *progress) heard(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
	if hear, ok := p.calls.Load(fmt.Sprint(req.Params.ProgressToken)); ok {
		hear.(func(*mcp.ProgressNotificationParams))(req.Params)
	}
}
