// The flows, links and sessions of the pages.

package docstest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every flow on a page is valid and leaves nothing to say. A block marked
// "yaml warnings" may have warnings, one marked "yaml invalid" must have errors.
func TestFlows(t *testing.T) {
	n := 0
	for _, p := range pages(t) {
		for _, b := range p.blocks() {
			words := strings.Fields(b.info)
			if len(words) == 0 || words[0] != "yaml" || !strings.Contains(b.text, "graphrun: v1") {
				continue
			}
			n++
			args, want := []string{"validate", "--strict", "-"}, 0
			switch strings.Join(words[1:], " ") {
			case "":
			case "warnings":
				args = []string{"validate", "-"}
			case "invalid":
				want = 3
			default:
				t.Errorf("%s:%d: unknown mark %q", p.name, b.line, b.info)
			}
			if out, code := call(b.text, args...); code != want {
				t.Errorf("%s:%d: exit code %d, want %d\n%s", p.name, b.line, code, want, out)
			}
		}
	}
	if n < 3 {
		t.Errorf("only %d flows on all pages", n)
	}
}

var link = regexp.MustCompile(`\]\(([^)#]+)(#[^)]*)?\)`)

// Links to files lead somewhere.
func TestLinks(t *testing.T) {
	for _, p := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(p.text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(root(), filepath.Dir(p.name), m[1])); err != nil {
				t.Errorf("%s: %v", p.name, err)
			}
		}
	}
}

// The sessions in README.md are of the files above them, in order. They were taken
// on a terminal, where no line says that a program has started.
func TestReadmeSessions(t *testing.T) {
	page := readPage(t, "README.md")
	t.Chdir(t.TempDir())
	sessions := 0
	for _, b := range page.blocks() {
		switch b.info {
		case "yaml":
			keepFile(t, b)
		case "console":
			sessions++
			line, _, _ := strings.Cut(b.text, "\n")
			command := strings.Fields(strings.TrimPrefix(line, "$ graphrun "))
			out, code := call("", append(command, "--store", "memory")...)
			if code != 0 {
				t.Fatalf("%s: exit code %d\n%s", line, code, out)
			}
			if diff := cmp.Diff(steady(b.text), steady(line+"\n"+out)); diff != "" {
				t.Errorf("README.md (-page +run):\n%s", diff)
			}
		}
	}
	if sessions != 2 {
		t.Errorf("README.md has %d sessions, want a run and its test", sessions)
	}
}

// Every command that README.md names within a sentence is one: its flags exist, and one
// that needs no more than a run is run.
func TestReadmeInlineCommands(t *testing.T) {
	text := readPage(t, "README.md").text
	for _, b := range readPage(t, "README.md").blocks() {
		text = strings.Replace(text, b.text, "", 1)
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("flow.yaml", []byte("graphrun: v1\nname: f\nstart: a\nnodes: {a: {kind: pass}}\nedges: [{from: a, to: END}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := call("", "run", "flow.yaml", "--store", "st"); code != 0 {
		t.Fatal(out)
	}
	commands, _ := call("", "--help")
	found := 0
	for _, m := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(text, -1) {
		words := strings.Fields(strings.Split(strings.TrimPrefix(m[1], "graphrun "), "|")[0])
		isCommand := strings.HasPrefix(m[1], "graphrun ") || len(words) > 1 && regexp.MustCompile(`(?m)^ +`+regexp.QuoteMeta(words[0])+` `).MatchString(commands)
		if !isCommand {
			continue
		}
		found++
		if words[len(words)-1] == "--run" {
			words = append(words, "last")
		}
		if out, code := call("", append(slices.Clone(words), "--help")...); code != 0 {
			t.Errorf("%s: exit code %d\n%s", m[1], code, out)
		}
		if slices.Contains(words, "last") {
			if out, code := call("", append(words, "--store", "st")...); code != 0 {
				t.Errorf("%s: exit code %d\n%s", m[1], code, out)
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d commands", found)
	}
}

// steady replaces run ids and times.
func steady(text string) string {
	text = regexp.MustCompile(`(?m)^run \S+ of`).ReplaceAllString(text, "run ID of")
	return regexp.MustCompile(` +\d+ms\b`).ReplaceAllString(text, " TIME")
}

// The pictures in README.md were made from these drawings: of its flow, and of a run
// of parallel-ci with a red test.
func TestReadmePictures(t *testing.T) {
	blocks := readPage(t, "README.md").blocks()
	flow := blocks[slices.IndexFunc(blocks, func(b block) bool { return b.info == "yaml" })].text
	got, code := call(flow, "dot", "--rankdir", "LR", "-")
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, got)
	}
	comparePicture(t, "release", got)

	dir := t.TempDir()
	file, store := filepath.Join(root(), "examples", "parallel-ci", "flow.yaml"), filepath.Join(dir, "runs.db")
	args := []string{"run", file, "--store", store, "--run-id", "red", "-i", "project=project-broken", "-i", "out=" + filepath.Join(dir, "out")}
	if text, code := call("", args...); code != 1 {
		t.Fatalf("exit code %d\n%s", code, text)
	}
	if got, code = call("", "dot", file, "--run", "red", "--rankdir", "LR", "--store", store); code != 0 {
		t.Fatalf("exit code %d\n%s", code, got)
	}
	comparePicture(t, "parallel-ci", got)
}

func comparePicture(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join(root(), "docs", "img", name+".dot")
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the drawing has changed; write it to docs/img/%s.dot and render %s.svg from it (-kept +now):\n%s", name, name, diff)
	}
}
