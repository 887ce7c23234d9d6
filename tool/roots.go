// Roots: the folders that a server may ask for. The protocol has deprecated them, but
// servers for file systems use them.

//lint:file-ignore SA1019 servers ask for roots for as long as the protocol has them

package tool

import (
	"net/url"
	"path/filepath"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// capabilities let servers ask questions, and for the folders that the graph names.
func (s *server) capabilities() *mcp.ClientCapabilities {
	out := &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}}}
	if len(s.Roots) > 0 {
		out.RootsV2 = &mcp.RootCapabilities{}
	}
	return out
}

// addRoots adds the folders of the graph to the client.
func (s *server) addRoots(client *mcp.Client) error {
	for _, path := range s.Roots {
		if !filepath.IsAbs(path) {
			path = filepath.Join(s.opts.Dir, path)
		}
		path, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		address := url.URL{Scheme: "file", Path: filepath.ToSlash(path)}
		client.AddRoots(&mcp.Root{URI: address.String(), Name: filepath.Base(path)})
	}
	return nil
}
