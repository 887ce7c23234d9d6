//go:build unix

package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/internal/bigflowtest"
)

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
// time that the YAML library needs to read the file into its nodes, and the most
// memory that a process needs for it.
func BenchmarkValidate10k(b *testing.B) {
	file := filepath.Join(b.TempDir(), "large.yaml")
	writeFile(b, file, bigflowtest.Uniform(10_000))
	compareWithDecoding(b, file, file)
}

// The same for nodes of several kinds.
func BenchmarkValidateMixed10k(b *testing.B) {
	file := filepath.Join(b.TempDir(), "large.yaml")
	writeFile(b, file, bigflowtest.Mixed(10_000, 0))
	compareWithDecoding(b, file, file)
}

// The same for a folder of 1,000 files of 50 nodes of several kinds each.
func BenchmarkValidateFolder(b *testing.B) {
	dir := b.TempDir()
	var files []string
	for i := range 1000 {
		files = append(files, filepath.Join(dir, fmt.Sprintf("flow%d.yaml", i)))
		writeFile(b, files[i], bigflowtest.Mixed(50, i))
	}
	compareWithDecoding(b, dir, files...)
}

func writeFile(b *testing.B, name, text string) {
	b.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
}

// compareWithDecoding reports the cost of validate on a path, as a multiple of
// the cost of reading the files into nodes of the YAML library.
func compareWithDecoding(b *testing.B, path string, files ...string) {
	b.Helper()
	size := 0
	decode := func() {
		size = 0
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				b.Fatal(err)
			}
			size += len(text)
			var doc yaml.Node
			if err := yaml.NewDecoder(bytes.NewReader(text)).Decode(&doc); err != nil {
				b.Fatal(err)
			}
		}
	}
	validate := func() {
		var out bytes.Buffer
		p := Program{Args: []string{"validate", "--strict", path}, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out}
		if code := Main(context.Background(), p); code != 0 {
			b.Fatalf("exit code %d: %.500s", code, out.String())
		}
	}
	var ratio float64
	var took time.Duration
	for b.Loop() {
		ratio, took = medianRatio(7, decode, validate)
	}
	b.ReportMetric(ratio, "cpu-ratio")
	b.ReportMetric(float64(took.Milliseconds()), "cpu-ms")
	b.ReportMetric(float64(size)/1e6/took.Seconds(), "MB/cpu-s")
	compareProcesses(b, path, size, files)
}

// compareProcesses compares whole processes: their time and their peak memory. Most of the memory
// is the program, which processes share; MB-start is the memory of one that only prints its
// version.
func compareProcesses(b *testing.B, path string, size int, files []string) {
	b.Helper()
	program, meter, dir := buildBinary(b, "../../cmd/graphrun"), buildMeter(b), b.TempDir()
	list := filepath.Join(dir, "files")
	writeFile(b, list, strings.Join(files, "\n"))
	source := filepath.Join(dir, "decode.go")
	writeFile(b, source, decoder)
	decode := buildBinary(b, source)
	measure := func(args ...string) (took time.Duration, kib float64) {
		out, err := exec.Command(meter, args...).Output()
		if _, scan := fmt.Sscan(string(out), &took, &kib); err != nil || scan != nil {
			b.Fatalf("%v, %v: %.500s", err, scan, out)
		}
		return took, kib
	}
	const times = 7
	var clock, memory []float64
	least, peak := time.Hour, 0.
	for range times {
		base, baseMemory := measure(decode, list)
		took, most := measure(program, "validate", path)
		clock, memory = append(clock, took.Seconds()/base.Seconds()), append(memory, most/baseMemory)
		least, peak = min(least, took), max(peak, most)
	}
	slices.Sort(clock)
	slices.Sort(memory)
	_, start := measure(program, "version")
	b.ReportMetric(clock[times/2], "clock-ratio")
	b.ReportMetric(memory[times/2], "memory-ratio")
	b.ReportMetric(float64(size)/1e6/least.Seconds(), "MB/s")
	b.ReportMetric(peak/1024, "MB-peak")
	b.ReportMetric(start/1024, "MB-start")
}

// decoder is a program that reads the files of a list into the YAML library's nodes.
const decoder = `package main

import (
	"os"
	"strings"

	"gopkg.in/yaml.v3"
)

func main() {
	list, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	for name := range strings.SplitSeq(string(list), "\n") {
		text, err := os.ReadFile(name)
		if err != nil {
			panic(err)
		}
		var doc yaml.Node
		if err := yaml.Unmarshal(text, &doc); err != nil {
			panic(err)
		}
	}
}
`

// buildMeter builds a program that runs another, and prints its time and its peak
// memory in KiB. The test does not run it directly, because a process counts the
// memory of the process that forked it, and a test has much.
func buildMeter(b *testing.B) string {
	b.Helper()
	dir := filepath.Join(b.TempDir(), "meter")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		b.Fatal(err)
	}
	writeFile(b, filepath.Join(dir, "main.go"), `package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

func main() {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	start := time.Now()
	if err := cmd.Run(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(time.Since(start).Nanoseconds(), cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
}
`)
	return buildBinary(b, filepath.Join(dir, "main.go"))
}

// The time of a loop of fan-outs to 100 nodes that join, as a multiple of the time of a loop
// with the same steps one after the other. Required: at most 3.
func BenchmarkFanOutCommand(b *testing.B) {
	const branches, rounds = 100, 300
	dir := b.TempDir()
	program := buildBinary(b, "../../cmd/graphrun")
	write := func(name, join string, edge func(i int) string) func() {
		var nodes, edges strings.Builder
		for i := range branches {
			fmt.Fprintf(&nodes, "  b%d: {kind: pass}\n", i)
			edges.WriteString(edge(i))
		}
		file := filepath.Join(dir, name+".yaml")
		writeFile(b, file, fmt.Sprintf(`graphrun: v1
name: %s
start: a
limits: {max_steps: 100000}
state: {n: {type: integer, default: 0}}
nodes:
  a: {kind: set, set: {n: n + 1}}
  j: {kind: pass%s}
%sedges:
%s  - {from: j, to: a, when: n < %d}
  - {from: j, to: END}
`, name, join, nodes.String(), edges.String(), rounds))
		return func() {
			if out, err := exec.Command(program, "run", file, "--store", "memory", "-q").CombinedOutput(); err != nil {
				b.Fatalf("%v\n%s", err, out)
			}
		}
	}
	line := write("line", "", func(i int) string {
		if i == 0 {
			return fmt.Sprintf("  - {from: a, to: b0}\n  - {from: b%d, to: j}\n", branches-1)
		}
		return fmt.Sprintf("  - {from: b%d, to: b%d}\n", i-1, i)
	})
	wide := write("wide", ", join: {wait: all}", func(i int) string {
		return fmt.Sprintf("  - {from: a, to: b%d}\n  - {from: b%d, to: j}\n", i, i)
	})
	for b.Loop() {
		ratio, _ := medianRatio(9, line, wide)
		b.ReportMetric(ratio, "cpu-ratio")
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
	flow := write("flow.yaml", bigflowtest.Uniform(3))
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
