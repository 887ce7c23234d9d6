// The page.

package serve

import (
	"bytes"
	"net/http"

	"github.com/graphrun/graphrun/internal/page"
)

// page adds the page, and what it is made of.
func (s *Server) page() {
	shell := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		var out bytes.Buffer
		if err := page.WriteLive(&out, "graphrun"); err != nil {
			problemOf(err).write(w)
			return
		}
		_, _ = out.WriteTo(w) // whoever asked has gone
	}
	for _, pattern := range []string{"GET /{$}", "GET /flow/{path...}", "GET /run/{run}", "GET /compare/{a}/{b}"} {
		s.mux.HandleFunc(pattern, shell)
	}
	s.mux.HandleFunc("GET /assets/{name}", func(w http.ResponseWriter, r *http.Request) {
		text, kind := page.Asset(r.PathValue("name"))
		if text == "" {
			(&problem{Status: http.StatusNotFound, Kind: "no-page", Title: "Not Found", Detail: "there is no such file"}).write(w)
			return
		}
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
		_, _ = w.Write([]byte(text)) // whoever asked has gone
	})
}
