package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	common "go.temporal.io/api/common/v1"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/temporal/internal/engine"
)

// s3 is a real S3 server over a folder.
type s3 struct {
	t             *testing.T
	address, root string
	kill          func()
}

// startS3 starts a server with the bucket "payloads", and sets this program's keys.
func startS3(t *testing.T) *s3 {
	t.Helper()
	if os.Getenv("GRAPHRUN_TEST_S3") == "" {
		t.Skip("GRAPHRUN_TEST_S3 does not name an S3 server; .ci/temporal builds one")
	}
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret-of-key", "AWS_SESSION_TOKEN": "",
		"AWS_ENDPOINT_URL": "", "AWS_ENDPOINT_URL_S3": "", "AWS_REGION": "", "AWS_DEFAULT_REGION": "",
	} {
		t.Setenv(name, value)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &s3{t: t, address: free.Addr().String(), root: t.TempDir()}
	if err := errors.Join(free.Close(), os.MkdirAll(filepath.Join(s.root, "buckets", "payloads"), 0o700),
		os.MkdirAll(filepath.Join(s.root, "meta"), 0o700)); err != nil {
		t.Fatal(err)
	}
	s.start()
	t.Cleanup(func() { s.kill() })
	return s
}

// start starts the server. After a kill, it uses the same address and folder.
func (s *s3) start() {
	s.t.Helper()
	server := exec.Command(os.Getenv("GRAPHRUN_TEST_S3"), "--port", s.address, "--quiet", "posix",
		"--sidecar", filepath.Join(s.root, "meta"), filepath.Join(s.root, "buckets"))
	server.Env = append(os.Environ(), "ROOT_ACCESS_KEY=key", "ROOT_SECRET_KEY=secret-of-key")
	if err := server.Start(); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = server.Wait()
		close(ended)
	}()
	s.kill = func() {
		_ = server.Process.Kill()
		<-ended
	}
	waitFor(s.t, func() bool {
		conn, err := net.DialTimeout("tcp", s.address, time.Second)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
}

// setting returns the value of --temporal-payloads for a bucket.
func (s *s3) setting(bucket string) string {
	return fmt.Sprintf("s3://%s/team/a?endpoint=http://%s&region=us-east-1", bucket, s.address)
}

// listObjects returns the files of the objects below a prefix.
func (s *s3) listObjects(prefix string) (files []string) {
	s.t.Helper()
	err := filepath.WalkDir(filepath.Join(s.root, "buckets", "payloads", prefix), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return files
}

// TestBucket: a bucket returns each value by its digest, and no others.
func TestBucket(t *testing.T) {
	s := startS3(t)
	conv, err := engine.NewConverter(s.setting("payloads"))
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{10, 100 << 10, 20 << 20} {
		value := strings.Repeat("0123456789", size/10)
		p, err := conv.ToPayload(value)
		if err != nil {
			t.Fatal(err)
		}
		if stored := len(p.GetData()) == 64; stored != (size > 64<<10) {
			t.Errorf("of %d bytes %d are in the history", size, len(p.GetData()))
		}
		var back string
		if err := conv.FromPayload(p, &back); err != nil || back != value {
			t.Errorf("of %d bytes come back %d: %v", size, len(back), err)
		}
	}
	kept := s.listObjects("team/a")
	if len(kept) != 2 {
		t.Fatalf("the bucket has %v, want two objects", kept)
	}

	// The converter of another process finds the value, and does not send it again.
	other, err := engine.NewConverter(s.setting("payloads"))
	if err != nil {
		t.Fatal(err)
	}
	value := strings.Repeat("0123456789", 10<<10)
	before := times(t, kept)
	p, err := other.ToPayload(value)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, times(t, s.listObjects("team/a"))); diff != "" {
		t.Errorf("a value that was there was sent again:\n%s", diff)
	}

	// Storing an old value again renews it, since a rule may delete old objects.
	long := time.Now().Add(-48 * time.Hour)
	for _, file := range kept {
		if err := os.Chtimes(file, long, long); err != nil {
			t.Fatal(err)
		}
	}
	later, err := engine.NewConverter(s.setting("payloads"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := later.ToPayload(value); err != nil {
		t.Fatal(err)
	}
	renewed := 0
	for _, at := range times(t, s.listObjects("team/a")) {
		if time.Since(at) < time.Hour {
			renewed++
		}
	}
	if renewed != 1 {
		t.Errorf("%d values count as new, want that which was kept once more", renewed)
	}

	var back string
	spoiled := filepath.Join(s.root, "buckets", "payloads", "team", "a", string(p.GetData()[:2]), string(p.GetData()))
	if err := os.WriteFile(spoiled, []byte(strings.Repeat("x", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := conv.FromPayload(p, &back); err == nil || !strings.Contains(err.Error(), "has another digest") {
		t.Errorf("a value that was changed: %v", err)
	}
	if err := os.Remove(spoiled); err != nil {
		t.Fatal(err)
	}
	if err := conv.FromPayload(p, &back); err == nil || !strings.Contains(err.Error(), `bucket "payloads" has no team/a/`) {
		t.Errorf("a value that is gone: %v", err)
	}
	for _, digest := range []string{"../../etc/passwd", "", strings.Repeat("../", 21) + "a"} {
		p := &common.Payload{Metadata: p.GetMetadata(), Data: []byte(digest)}
		if err := conv.FromPayload(p, &back); err == nil || !strings.Contains(err.Error(), "is not a digest") {
			t.Errorf("digest %q: %v", digest, err)
		}
	}
}

// times returns when files were written.
func times(t *testing.T, files []string) map[string]time.Time {
	t.Helper()
	out := map[string]time.Time{}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		out[file] = info.ModTime()
	}
	return out
}

// TestBucketRefused: the error for an unusable bucket comes at once and says what to do.
func TestBucketRefused(t *testing.T) {
	s := startS3(t)
	_, err := engine.NewConverter(s.setting("nothing"))
	if err == nil || !strings.Contains(err.Error(), "NoSuchBucket); it must exist") {
		t.Errorf("a bucket that is missing: %v", err)
	}
	t.Setenv("AWS_SECRET_ACCESS_KEY", "another")
	_, err = engine.NewConverter(s.setting("payloads"))
	if err == nil || !strings.Contains(err.Error(), `bucket "payloads" at `) || !strings.Contains(err.Error(), "AWS_SECRET_ACCESS_KEY") {
		t.Errorf("a wrong key: %v", err)
	}
	if err != nil && strings.Contains(err.Error(), "another") {
		t.Errorf("the error tells the key: %v", err)
	}
}

// TestBucketStopped: values can't be stored or read while the server is stopped, but can afterwards.
func TestBucketStopped(t *testing.T) {
	s := startS3(t)
	conv, err := engine.NewConverter(s.setting("payloads"))
	if err != nil {
		t.Fatal(err)
	}
	value := strings.Repeat("a", 100<<10)
	early, err := conv.ToPayload(value)
	if err != nil {
		t.Fatal(err)
	}
	s.kill()
	var back string
	if err := conv.FromPayload(early, &back); err == nil || !strings.Contains(err.Error(), "is out of reach") {
		t.Errorf("reading without a server: %v", err)
	}
	if _, err := conv.ToPayload(value + "b"); err == nil || !strings.Contains(err.Error(), "is out of reach") {
		t.Errorf("keeping without a server: %v", err)
	}
	s.start()
	late, err := conv.ToPayload(value + "b")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(conv.FromPayload(early, new(string)), conv.FromPayload(late, &back)); err != nil || back != value+"b" {
		t.Errorf("after the server came back %d bytes: %v", len(back), err)
	}
}

// TestPayloadSettings: settings that name no payload store are refused without a request.
func TestPayloadSettings(t *testing.T) {
	for _, setting := range []string{
		"s3://", "s3:///prefix", "s3://key:secret@bucket", "s3://bucket?regoin=x", "s3://bucket?endpoint=127.0.0.1", "s3://bucket?endpoint=ftp://x", "gs://bucket",
	} {
		_, err := engine.NewConverter(setting)
		if err == nil || !strings.Contains(err.Error(), "give a folder, or s3://BUCKET/PREFIX") || !strings.Contains(err.Error(), "keys belong in AWS_ACCESS_KEY_ID") {
			t.Errorf("%s: %v", setting, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret@") {
			t.Errorf("%s: the error tells the key: %v", setting, err)
		}
	}
}

// farFlow passes a value of 200 KB from one worker to another, and to the state.
const farFlow = `graphrun: v1
name: far
start: make
limits: {node_timeout: 5m}
state:
  dir: {type: string, required: true}
  pad: {type: string, default: ""}
  text: {type: string, default: ""}
  size: {type: integer, default: 0}
nodes:
  make:
    kind: exec
    queue: far
    script: |
      echo "far away" >&2
      echo made >> "$DIR/made"
      while test -e "$DIR/wait"; do sleep 0.1; done
      head -c $SIZE /dev/zero | tr '\0' x
    env: {DIR: "{{ dir }}", SIZE: "SIZE_OF_TEXT"}
    writes: [text]
  count:
    kind: exec
    script: wc -c
    stdin: "{{ text }}{{ pad }}"
    writes: [size]
edges:
  - {from: make, to: count}
  - {from: count, to: END}
`

// runFarFlow runs farFlow with two workers that share only the bucket. When the first task
// ends, the bucket becomes unavailable for longer than a worker may be silent.
func runFarFlow(t *testing.T, text, pad int) *engine.Options {
	t.Helper()
	s := startS3(t)
	o := &engine.Options{Address: serverOf(t), Payloads: s.setting("payloads")}
	const heartbeat = 2 * time.Second
	startWorker(t, *o, engine.WorkerOptions{Heartbeat: heartbeat})
	far := exec.Command(os.Args[0])
	far.Dir = t.TempDir()
	far.Env = append(os.Environ(), "GRAPHRUN_TEST_WORKER="+o.Address, "GRAPHRUN_TEST_PAYLOADS="+o.Payloads, "GRAPHRUN_TEST_QUEUE=far",
		"HOME="+far.Dir, "XDG_CACHE_HOME="+far.Dir)
	if err := far.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = far.Process.Kill()
		_ = far.Wait()
	})
	dir := t.TempDir()
	file := filepath.Join(dir, "flow.yaml")
	source := strings.Replace(farFlow, "SIZE_OF_TEXT", fmt.Sprint(text), 1)
	if err := errors.Join(os.WriteFile(file, []byte(source), 0o600), os.WriteFile(filepath.Join(dir, "wait"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	result := make(chan outcome, 1)
	go func() {
		defer close(result) // also when the command says no result
		result <- runCommand(t, o, "run", file, "-i", "dir="+dir, "-i", "pad="+strings.Repeat("p", pad), "--run-id", "far")
	}()
	waitFor(t, func() bool {
		_, err := os.Stat(filepath.Join(dir, "made"))
		return err == nil
	})
	looker, err := o.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer looker.Close()
	s.kill()
	looked := make(chan error, 1)
	go func() {
		_, err := looker.Store(context.Background()).Run("far")
		looked <- err
	}()
	if err := os.Remove(filepath.Join(dir, "wait")); err != nil {
		t.Fatal(err)
	}
	time.Sleep(heartbeat + time.Second)
	s.start()
	if err := <-looked; err != nil {
		t.Errorf("who looked at the run while the bucket was away: %v", err)
	}
	out := <-result
	if kept, _ := out.State["text"].(string); out.Code != 0 || len(kept) != text || fmt.Sprint(out.State["size"]) != fmt.Sprint(text+pad) {
		t.Errorf("exit code %d, %d bytes, size %v, error %v; want 0, %d bytes, size %d",
			out.Code, len(kept), out.State["size"], out.Error, text, text+pad)
	}
	if made, err := os.ReadFile(filepath.Join(dir, "made")); err != nil || string(made) != "made\n" {
		t.Errorf("the task ran again: %q, %v", made, err)
	}
	return o
}

// TestBucketFlow: workers share a value through a bucket. A task whose result could not be stored
// for a while does not run again, and its log is stored.
func TestBucketFlow(t *testing.T) {
	o := runFarFlow(t, 200_000, 10)
	if logs, stderr, code := command(o, "logs", "far"); code != 0 || !strings.Contains(logs, "far away") {
		t.Errorf("logs (exit code %d): %s%s", code, logs, stderr)
	}
}

// TestBucketDecision: a run whose workflow needs an unavailable bucket continues when the bucket
// is available again.
func TestBucketDecision(t *testing.T) {
	runFarFlow(t, 10, 100_000)
}
