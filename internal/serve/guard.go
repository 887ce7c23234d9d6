// Access control: token, host names, origin of requests.

package serve

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Limits of requests.
const (
	maxBody      = 16 << 20
	readTimeout  = 30 * time.Second
	writeTimeout = 60 * time.Second
)

// policy is the content security policy: nothing from other sites and no inline scripts.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// guard decides which requests the server handles.
type guard struct {
	token    [sha256.Size]byte
	cookie   string // its name contains the port: servers on other ports have their own
	hosts    []string
	loopback bool
	readOnly bool
	open     []string // patterns that need no token
}

func newGuard(cfg *Config) *guard {
	sum := sha256.Sum256([]byte(cfg.Token))
	again := sha256.Sum256(sum[:]) // the cookie's name is not secret
	return &guard{
		token: sum, cookie: "graphrun_" + hex.EncodeToString(again[:4]), hosts: cfg.Hosts,
		loopback: cfg.Loopback, readOnly: cfg.ReadOnly, open: []string{"GET /api/v1/health", "GET /api/v1/ready"},
	}
}

// serveAllowed sets the security headers, and passes the request to mux if it is allowed.
func (g *guard) serveAllowed(w http.ResponseWriter, r *http.Request, mux *http.ServeMux) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(readTimeout)) // writers of tests have no deadlines
	_ = control.SetWriteDeadline(time.Now().Add(writeTimeout))
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	_, pattern := mux.Handler(r)
	if p := g.checkRequest(r, pattern); p != nil {
		if p.Status == http.StatusUnauthorized {
			h.Set("WWW-Authenticate", `Bearer realm="graphrun"`)
			if wantsHTML(r) {
				writeNotice(w, p.Status, "Open the link that <code>graphrun serve</code> has printed: it has the token in it.")
				return
			}
		}
		p.write(w)
		return
	}
	if g.signIn(w, r) {
		return
	}
	mux.ServeHTTP(w, r)
}

// checkRequest returns the problem of a request that is not allowed, or nil.
func (g *guard) checkRequest(r *http.Request, pattern string) *problem {
	if !g.isKnownHost(r.Host) {
		return newForbidden("host", fmt.Sprintf("unknown host %.200q; serve --host allows more", r.Host))
	}
	if why := describeOrigin(r); why != "" {
		return newForbidden("origin", why)
	}
	changes := r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodOptions
	if g.readOnly && changes {
		return newForbidden("read-only", "the server was started with --read-only: nothing can be changed")
	}
	if !slices.Contains(g.open, pattern) && !g.hasToken(r) {
		return &problem{Status: http.StatusUnauthorized, Kind: "no-token", Title: "a token is needed", Detail: "send it as Authorization: Bearer TOKEN, or open the link that graphrun serve has printed"}
	}
	return nil
}

func newForbidden(kind, detail string) *problem {
	return &problem{Status: http.StatusForbidden, Kind: kind, Title: "refused", Detail: detail}
}

// isKnownHost reports whether a Host header names this server. It refuses other DNS names, which
// protects against DNS rebinding.
func (g *guard) isKnownHost(host string) bool {
	name := strings.ToLower((&url.URL{Host: host}).Hostname())
	if slices.ContainsFunc(g.hosts, func(h string) bool { return strings.EqualFold(h, name) }) {
		return true
	}
	if addr, err := netip.ParseAddr(name); err == nil {
		return addr.IsLoopback() || !g.loopback // addresses need no DNS
	}
	return name == "localhost"
}

// describeOrigin says which other site's page sent the request, or returns "".
func describeOrigin(r *http.Request) string {
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host) {
			return fmt.Sprintf("the request comes from %.200q, another site", origin)
		}
		return ""
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "cross-site", "same-site":
		if r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" {
			return "" // a followed link
		}
		return "the request comes from a page of another site"
	}
	return ""
}

func (g *guard) hasToken(r *http.Request) bool {
	if scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		return g.isToken(token)
	}
	if cookie, err := r.Cookie(g.cookie); err == nil && g.isToken(cookie.Value) {
		return true
	}
	return g.hasLinkToken(r)
}

// hasLinkToken reports whether a request opens the link with the token.
func (g *guard) hasLinkToken(r *http.Request) bool {
	return r.Method == http.MethodGet && !strings.HasPrefix(r.URL.Path, "/api/") && g.isToken(r.URL.Query().Get("token"))
}

// isToken compares the token in constant time.
func (g *guard) isToken(token string) bool {
	sum := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(sum[:], g.token[:]) == 1
}

// signIn sets a cookie from the token of a link and redirects to the address without it.
func (g *guard) signIn(w http.ResponseWriter, r *http.Request) bool {
	if !r.URL.Query().Has("token") || !g.hasLinkToken(r) {
		return false
	}
	http.SetCookie(w, &http.Cookie{
		Name: g.cookie, Value: r.URL.Query().Get("token"), Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https",
	})
	to := *r.URL
	query := to.Query()
	query.Del("token")
	to.RawQuery, to.Scheme, to.Host = query.Encode(), "", ""
	to.Path = "/" + strings.TrimLeft(to.Path, "/\\") // never another host's
	http.Redirect(w, r, to.String(), http.StatusSeeOther)
	return true
}

// wantsHTML reports whether a browser would show the response as a page.
func wantsHTML(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}

// writeNotice writes a page with one sentence of HTML.
func writeNotice(w http.ResponseWriter, status int, sentence string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "<!doctype html><html lang=en><meta name=viewport content=width=device-width><title>graphrun</title><h1>graphrun</h1><p>"+sentence+"</p>") // fails only if the client has disconnected
}
