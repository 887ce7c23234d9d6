// The sessions of the tutorial and the recipes, run in order.

package docstest

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A flow on these pages whose first line is a comment with a file name is that
// file; the commands of a console block are run where the files are, and print what
// the block says. -update writes what they print.
func TestPageSessions(t *testing.T) {
	for _, name := range []string{"docs/tutorial.md", "docs/recipes.md", "docs/testing.md"} {
		t.Run(name, func(t *testing.T) {
			p, file := readPage(t, name), absolute(t, filepath.Join(root(), name))
			dir := t.TempDir()
			t.Chdir(dir)
			text := p.text
			for _, b := range p.blocks() {
				switch {
				case strings.HasPrefix(b.info, "yaml"):
					keepFile(t, b)
				case b.info == "console":
					text = strings.Replace(text, "```console\n"+b.text, "```console\n"+session(t, b, dir), 1)
				}
			}
			if *update {
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(steadySession(p.text), steadySession(text)); diff != "" {
				t.Errorf("%s (-page +run):\n%s", name, diff)
			}
		})
	}
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	out, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// keepFile writes a block that names its file.
func keepFile(t *testing.T, b block) {
	t.Helper()
	first, _, _ := strings.Cut(b.text, "\n")
	if name, ok := strings.CutPrefix(first, "# "); ok && strings.HasSuffix(name, ".yaml") {
		if err := os.WriteFile(name, []byte(b.text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// session runs the commands of a block and returns it with what they print.
func session(t *testing.T, b block, state string) string {
	t.Helper()
	var out strings.Builder
	code := 0
	for line := range strings.Lines(b.text) {
		command, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "$ ")
		if !ok {
			continue
		}
		out.WriteString(line)
		if command == "echo $?" {
			out.WriteString(strconv.Itoa(code) + "\n")
			continue
		}
		command, quiet := strings.CutSuffix(command, " >/dev/null")
		words := shellWords(command)
		if words[0] != "graphrun" {
			t.Fatalf("line %d: only graphrun is run here, not %q", b.line, command)
		}
		printed := ""
		if printed, code = callIn(state, "", words[1:]...); !quiet {
			out.WriteString(printed)
		}
	}
	return out.String()
}

// shellWords splits a command at blanks outside of quotes.
func shellWords(command string) []string {
	var out []string
	for _, word := range regexp.MustCompile(`(?:[^\s"']|"[^"]*"|'[^']*')+`).FindAllString(command, -1) {
		out = append(out, strings.NewReplacer(`"`, "", "'", "").Replace(word))
	}
	return out
}

// steadySession replaces what differs from run to run: times of day, durations.
func steadySession(text string) string {
	text = regexp.MustCompile(`(?m) +$`).ReplaceAllString(text, "")
	text = regexp.MustCompile(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:\d\d)?`).ReplaceAllString(text, "WHEN")
	return regexp.MustCompile(` +\b\d+(\.\d+)?(ms|s)\b`).ReplaceAllString(text, " TIME")
}
