//go:build linux

// The test binary doubles as graphrun, with a clock that can be set.

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
	// programEnv makes the binary graphrun.
	programEnv = "CHAOS_PROGRAM"
	// clockEnv names a file that holds by how many seconds the clock is off.
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

// wrongClock tells the time that the machine's clock would if somebody set it: the
// wall clock moves, what is measured does not.
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
	return func() time.Time { return shifted(time.Now(), off.Load()) }
}

// shifted sets the wall clock of a time that has a monotonic one, too: its seconds
// since 1885 are above the lower 30 bits.
func shifted(t time.Time, seconds int64) time.Time {
	const nanosecondBits = 30
	wall := (*uint64)(unsafe.Pointer(&t))
	*wall += uint64(seconds << nanosecondBits)
	return t
}

// setClock makes the clock wrong by so many seconds.
func setClock(t *testing.T, path string, seconds int64) {
	t.Helper()
	var word [8]byte
	binary.NativeEndian.PutUint64(word[:], uint64(seconds))
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600) // in place: it is mapped
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

func TestShifted(t *testing.T) {
	now := time.Now()
	for _, seconds := range []int64{3600, -86400} {
		then := shifted(now, seconds)
		if got := then.Unix() - now.Unix(); got != seconds {
			t.Errorf("%d seconds on the wall, want %d", got, seconds)
		}
		if got := then.Sub(now); got != 0 {
			t.Errorf("%s are measured, want none", got)
		}
	}
}
