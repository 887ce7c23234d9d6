//go:build unix

package serve

import (
	"bytes"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/graphrun/graphrun/internal/longtest"
)

// TestTenThousand opens ten thousand connections that send half a request. The server keeps as
// many as its limit allows, and still answers complete requests.
func TestTenThousand(t *testing.T) {
	many := longtest.Choose(5_000, 10_000)
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	if files.Cur < uint64(many)+2*maxConnections {
		many = int(files.Cur) - 2*maxConnections
	}
	if many < 2*maxConnections {
		t.Skipf("%d files may be open, which is too few for a crowd", files.Cur)
	}
	s := newTested(t, nil)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := Listen(s.server)
	server.ReadHeaderTimeout = time.Minute     // they must not time out
	go func() { _ = server.Serve(listener) }() // until it is closed
	t.Cleanup(func() { _ = server.Close() })
	crowd := make([]net.Conn, many)
	for i := range crowd {
		if crowd[i], err = net.Dial("tcp", listener.Addr().String()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = crowd[i].Close() })
		_, _ = io.WriteString(crowd[i], "GET /api/v1/health HTTP/1.1\r\nHo") // it may be gone already
	}
	last, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = last.Close() }()
	if _, err := io.WriteString(last, "GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	_ = last.SetReadDeadline(time.Now().Add(20 * time.Second))
	if text, _ := io.ReadAll(last); !bytes.Contains(text, []byte("200 OK")) {
		t.Errorf("who asks behind %d is answered %q", many, text)
	}
	for i, conn := range crowd[:many-maxConnections] { // the server closes the oldest before the deadline
		_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
		if n, err := conn.Read(make([]byte, 1)); n > 0 || err == nil {
			t.Fatalf("connection %d is answered", i)
		} else if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
			t.Fatalf("connection %d is kept: %v", i, err)
		}
	}
}
