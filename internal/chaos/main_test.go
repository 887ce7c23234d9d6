//go:build linux

// The test binary also serves as graphrun, with a clock that the test can set.

package chaos

import (
	"context"
	"encoding/binary"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/graphrun/graphrun/internal/cli"
)

const (
	// programEnv makes the test binary run as graphrun.
	programEnv = "CHAOS_PROGRAM"
	// clockEnv names a file with the offset of the clock in seconds.
	clockEnv = "CHAOS_CLOCK"
)

func TestMain(m *testing.M) {
	if os.Getenv(programEnv) == "" {
		os.Exit(m.Run())
	}
	p := cli.System()
	if path := os.Getenv(clockEnv); path != "" {
		p.Now = wrongClock(path)
	}
	os.Exit(cli.Main(context.Background(), p))
}

// wrongClock returns a clock that behaves like a machine's clock that was set: the wall clock is
// shifted, the monotonic clock is not.
func wrongClock(path string) func() time.Time {
	f, err := os.Open(path)
	if err != nil {
		panic(err)
	}
	page, err := syscall.Mmap(int(f.Fd()), 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	off := (*atomic.Int64)(unsafe.Pointer(&page[0]))
	return func() time.Time { return shiftWallClock(time.Now(), off.Load()) }
}

// shiftWallClock shifts the wall clock of a time and keeps its monotonic clock. The seconds since 1885
// are above the lower 30 bits.
func shiftWallClock(t time.Time, seconds int64) time.Time {
	const nanosecondBits = 30
	wall := (*uint64)(unsafe.Pointer(&t))
	*wall += uint64(seconds << nanosecondBits)
	return t
}

// setClock sets the offset of the clock in seconds.
func setClock(t *testing.T, path string, seconds int64) {
	t.Helper()
	var word [8]byte
	binary.NativeEndian.PutUint64(word[:], uint64(seconds))
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600) // in place, since the file is mapped
	if err == nil {
		_, err = f.WriteAt(word[:], 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestShiftWallClock(t *testing.T) {
	now := time.Now()
	for _, seconds := range []int64{3600, -86400} {
		then := shiftWallClock(now, seconds)
		if got := then.Unix() - now.Unix(); got != seconds {
			t.Errorf("%d seconds on the wall, want %d", got, seconds)
		}
		if got := then.Sub(now); got != 0 {
			t.Errorf("%s are measured, want none", got)
		}
	}
}
