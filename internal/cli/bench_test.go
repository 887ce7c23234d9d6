package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// largeFlow is a flow of so many nodes and twice as many edges.
func largeFlow(nodes int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "graphrun: v1\nname: large\nstart: n0\nlimits: {max_steps: %d}\nstate: {n: {type: integer, default: 0}}\nnodes:\n", 2*nodes)
	for i := range nodes {
		fmt.Fprintf(&b, "  n%d:\n    kind: set\n    set: {n: n + 1}\n", i)
	}
	b.WriteString("edges:\n")
	for i := range nodes {
		next := fmt.Sprintf("n%d", i+1)
		if i == nodes-1 {
			next = "END"
		}
		fmt.Fprintf(&b, "  - {from: n%d, to: %s, when: n >= 0}\n  - {from: n%d, to: END}\n", i, next, i)
	}
	return b.String()
}

// medianRatio runs both in turn, n times, and returns the median of the ratios
// of their processor time, and the median of the second's.
func medianRatio(n int, base, candidate func()) (ratio float64, took time.Duration) {
	processor := func(f func()) time.Duration {
		before := processorTime(syscall.RUSAGE_SELF) + processorTime(syscall.RUSAGE_CHILDREN)
		f()
		return processorTime(syscall.RUSAGE_SELF) + processorTime(syscall.RUSAGE_CHILDREN) - before
	}
	ratios, times := make([]float64, n), make([]time.Duration, n)
	for i := range n {
		b := processor(base)
		times[i] = processor(candidate)
		ratios[i] = float64(times[i]) / float64(b)
	}
	slices.Sort(ratios)
	slices.Sort(times)
	return ratios[n/2], times[n/2]
}

func processorTime(who int) time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(who, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// The time of validate on 10,000 nodes and 20,000 edges, as a multiple of the
// time that the YAML library needs to read the file into its nodes.
func BenchmarkValidate10k(b *testing.B) {
	text := []byte(largeFlow(10_000))
	file := filepath.Join(b.TempDir(), "large.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		b.Fatal(err)
	}
	decode := func() {
		var doc yaml.Node
		if err := yaml.NewDecoder(bytes.NewReader(text)).Decode(&doc); err != nil {
			b.Fatal(err)
		}
	}
	validate := func() {
		var out bytes.Buffer
		p := Program{Args: []string{"validate", file}, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out}
		if code := Main(context.Background(), p); code != 0 {
			b.Fatalf("exit code %d: %.500s", code, out.String())
		}
	}
	for b.Loop() {
		ratio, took := medianRatio(7, decode, validate)
		b.ReportMetric(ratio, "cpu-ratio")
		b.ReportMetric(float64(took.Milliseconds()), "cpu-ms")
	}
	binary := buildBinary(b, "../../cmd/graphrun")
	cmd := exec.Command(binary, "validate", file)
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v: %.500s", err, out)
	}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && runtime.GOOS == "linux" {
		b.ReportMetric(float64(usage.Maxrss)/1024, "MB")
	}
}

// How long the program takes to start and end, as a multiple of a Go program
// that prints a line.
func BenchmarkColdStart(b *testing.B) {
	dir := b.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
		return path
	}
	hello := buildBinary(b, write("hello/main.go", "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"hello\") }\n"))
	program := buildBinary(b, "../../cmd/graphrun")
	if info, err := os.Stat(program); err == nil {
		b.Logf("the program has %.1f MB", float64(info.Size())/1e6)
	}
	flow := write("flow.yaml", largeFlow(3))
	run := func(args ...string) func() {
		return func() {
			cmd := exec.Command(args[0], args[1:]...)
			cmd.Stdout, cmd.Stderr = io.Discard, io.Discard
			if err := cmd.Run(); err != nil {
				b.Fatalf("%v: %v", args, err)
			}
		}
	}
	for _, args := range [][]string{{program, "version"}, {program, "validate", flow}} {
		b.Run(args[1], func(b *testing.B) {
			for b.Loop() {
				wall, cpu := coldRatio(41, run(hello), run(args...))
				b.ReportMetric(wall, "ratio")
				b.ReportMetric(cpu, "cpu-ratio")
			}
		})
	}
}

// coldRatio runs both in turn, n times, and returns the medians of the ratios of
// their times: by the clock, and of the processor.
func coldRatio(n int, base, candidate func()) (wall, cpu float64) {
	base()
	candidate()
	walls, cpus := make([]float64, n), make([]float64, n)
	sample := func(f func()) (time.Duration, time.Duration) {
		began, before := time.Now(), processorTime(syscall.RUSAGE_CHILDREN)
		f()
		return time.Since(began), processorTime(syscall.RUSAGE_CHILDREN) - before
	}
	for i := range n {
		baseWall, baseCPU := sample(base)
		w, c := sample(candidate)
		walls[i], cpus[i] = float64(w)/float64(baseWall), float64(c)/float64(baseCPU)
	}
	slices.Sort(walls)
	slices.Sort(cpus)
	return walls[n/2], cpus[n/2]
}

// buildBinary builds a program as `make build` does.
func buildBinary(b *testing.B, source string) string {
	b.Helper()
	binary := filepath.Join(b.TempDir(), "program")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, source)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("go build %s: %v: %s", source, err, out)
	}
	return binary
}
