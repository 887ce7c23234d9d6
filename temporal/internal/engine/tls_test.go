package engine_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graphrun/graphrun/temporal/internal/engine"
)

// authority signs certificates for a test.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t, dir: t.TempDir()}
	a.issue("ca", &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

// issue writes NAME.pem and NAME.key.
func (a *authority) issue(name string, template *x509.Certificate) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template.SerialNumber, template.Subject = big.NewInt(time.Now().UnixNano()), pkix.Name{CommonName: name}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	if a.cert == nil {
		a.key = key
		if a.cert, err = x509.ParseCertificate(der); err != nil {
			a.t.Fatal(err)
		}
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	a.write(name+".pem", "CERTIFICATE", der)
	a.write(name+".key", "EC PRIVATE KEY", private)
}

func (a *authority) write(name, kind string, der []byte) {
	if err := os.WriteFile(a.file(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

// guard is a proxy that only admits clients with a key and a certificate of the authority.
func (a *authority) guard(address, apiKey string) string {
	a.t.Helper()
	pair, err := tls.LoadX509KeyPair(a.file("server.pem"), a.file("server.key"))
	if err != nil {
		a.t.Fatal(err)
	}
	clients := x509.NewCertPool()
	clients.AddCert(a.cert)
	plain := new(http.Protocols)
	plain.SetUnencryptedHTTP2(true)
	onward := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: address})
	onward.Transport, onward.FlushInterval = &http.Transport{Protocols: plain}, -1
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+apiKey {
			w.Header().Set("Content-Type", "application/grpc")
			w.Header().Set("Grpc-Status", "16")
			w.Header().Set("Grpc-Message", "who are you")
			return
		}
		onward.ServeHTTP(w, r)
	}))
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	onward.ErrorLog = server.Config.ErrorLog
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients}
	server.StartTLS()
	a.t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// TestSecured: workers and clients connect to a cluster that requires certificates and a key.
// Their errors say which of them is missing.
func TestSecured(t *testing.T) {
	a := newAuthority(t)
	a.issue("server", &x509.Certificate{DNSNames: []string{"temporal.test"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	a.issue("client", &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	o := engine.Options{
		Address: a.guard(serverOf(t), "open sesame"), Payloads: t.TempDir(), CA: a.file("ca.pem"), Cert: a.file("client.pem"), Key: a.file("client.key"),
		ServerName: "temporal.test", APIKey: "open sesame",
	}
	startWorker(t, o, engine.WorkerOptions{})
	file := filepath.Join(t.TempDir(), "flow.yaml")
	if err := os.WriteFile(file, []byte(visits), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := runCommand(t, &o, "run", file); out.Code != 0 || out.Status != "completed" {
		t.Errorf("exit code %d, status %s: %v", out.Code, out.Status, out.Error)
	}
	for name, c := range map[string]struct {
		change func(*engine.Options)
		want   string
	}{
		"no certificate":        {func(o *engine.Options) { o.Cert, o.Key = "", "" }, "certificate"},
		"no key to it":          {func(o *engine.Options) { o.Key = "" }, "other must be present too"},
		"unknown authority":     {func(o *engine.Options) { o.CA = "" }, "certificate"},
		"another name":          {func(o *engine.Options) { o.ServerName = "elsewhere.test" }, "elsewhere.test"},
		"another key":           {func(o *engine.Options) { o.APIKey = "open barley" }, "who are you"},
		"no file":               {func(o *engine.Options) { o.CA = a.file("none.pem") }, "none.pem"},
		"no certificate inside": {func(o *engine.Options) { o.CA = a.file("ca.key") }, "failed adding server CA"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := o
			c.change(&o)
			_, err := o.Dial()
			// The client may lose the reply of a server that closes the connection while the client writes.
			for i := 0; i < 20 && err != nil && strings.Contains(err.Error(), "broken pipe"); i++ {
				_, err = o.Dial()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want %q in it", err, c.want)
			}
		})
	}
}
