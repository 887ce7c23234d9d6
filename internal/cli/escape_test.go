package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

func TestPathsOfTheCommandLineAreEscaped(t *testing.T) {
	const path = "x\x1b[31mred\ny"
	for _, args := range [][]string{
		{"run", path},
		{"validate", path},
		{"diff", path, path},
		{"bound", path},
		{"dot", path},
		{"run", "testdata/none.yaml", "--store=" + path + "/a"},
		{"validate", "--baseline", path, "."},
		{"runs", "list", "--store", path + "/a", "--label", "no"},
	} {
		var stdout, stderr bytes.Buffer
		Main(context.Background(), Program{Args: args, Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr})
		if text := stdout.String() + stderr.String(); strings.Contains(text, "\x1b") || strings.Contains(text, "\ny") || strings.Contains(text, "\n  y") {
			t.Errorf("%q: %q", args, text)
		}
	}
}

func TestShellWordOfControls(t *testing.T) {
	for word, want := range map[string]string{
		"a\x1b[31m'\"\\\n": `$'a\x1b[31m\x27"\\\n'`,
	} {
		if got := shellWord(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}
