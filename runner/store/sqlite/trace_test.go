package sqlite_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/runner/store/sqlite"
)

// tracer returns the command that watches the system calls of a driver, and
// skips the test where there is none or it may not watch.
func tracer(t *testing.T, args ...string) []string {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed")
	}
	if err := exec.Command(strace, "-o", os.DevNull, "true").Run(); err != nil {
		t.Skip("strace may not watch processes here")
	}
	return append([]string{strace, "-f", "-qq"}, args...)
}

// A commit waits for the disk once.
func TestSyncs(t *testing.T) {
	t.Parallel()
	const steps = 1000
	dir := t.TempDir()
	out := filepath.Join(dir, "calls")
	d := startDriver(t, filepath.Join(dir, "runs.db"), steps, tracer(t, "-o", out, "-e", "trace=fsync,fdatasync")...)
	commits := -1 // "began" is none
	for d.readLine() {
		commits++
	}
	d.finish()
	text, err := os.ReadFile(out)
	if err != nil || d.err != "" {
		t.Fatal(err, d.err)
	}
	syncs := len(regexp.MustCompile(`(?m)\bf(data)?sync\(\d+`).FindAllIndex(text, -1))
	if syncs < commits || float64(syncs) > 1.02*float64(commits)+12 { // 12: making the file
		t.Errorf("%d commits took %d syncs", commits, syncs)
	}
	checkStore(t, filepath.Join(dir, "runs.db"), d.kept)
}

// A step with an effect waits for the disk once: its end is stored with the next start.
func TestSyncsOfSteps(t *testing.T) {
	t.Parallel()
	const steps = 1000
	dir := t.TempDir()
	out := filepath.Join(dir, "calls")
	args := tracer(t, "-o", out, "-e", "trace=fsync,fdatasync", os.Args[0])
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), driverEnv+"="+filepath.Join(dir, "runs.db"), stepsEnv+"="+strconv.Itoa(steps), "GORACE=atexit_sleep_ms=0")
	if said, err := cmd.CombinedOutput(); err != nil || len(said) > 0 {
		t.Fatal(err, string(said))
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if syncs := strings.Count(string(text), "sync("); syncs < steps || syncs > steps*102/100+12 { // 12: making the file
		t.Errorf("%d steps took %d syncs", steps, syncs)
	}
}

// When the disk fails, the driver stops with an error that says so, and acknowledged events
// remain.
func TestDiskFails(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, inject, want string }{
		{"write", "pwrite64:error=EIO", sqlite.ErrIO.Error()},
		{"full", "pwrite64:error=ENOSPC", sqlite.ErrFull.Error()},
		{"sync", "fsync,fdatasync:error=EIO", sqlite.ErrIO.Error()},
	} {
		t.Run(c.name, func(t *testing.T) {
			failed := 0
			for _, when := range []int{25, 131} {
				dir := t.TempDir()
				path := filepath.Join(dir, "runs.db")
				d := startDriver(t, path, 0, tracer(t, "-o", filepath.Join(dir, "calls"),
					"-e", "inject="+c.inject+":when="+strconv.Itoa(when)+"+")...)
				d.finish()
				if !strings.HasPrefix(d.err, "error store ") || !strings.Contains(d.err, c.want) {
					t.Errorf("the driver ends with %q, want %q", d.err, c.want)
				}
				if checkStore(t, path, d.kept) > 0 {
					failed++
				}
			}
			if failed == 0 {
				t.Error("no fault came after an event")
			}
		})
	}
}
