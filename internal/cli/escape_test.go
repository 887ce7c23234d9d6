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

func TestAge(t *testing.T) {
	for in, want := range map[string]string{"30d": "720h0m0s", "90m": "1h30m0s", "0s": "0s"} {
		var d age
		if err := d.Set(in); err != nil || d.String() != want {
			t.Errorf("%q: got %s, %v, want %s", in, &d, err, want)
		}
	}
	for _, bad := range []string{"", "d", "-1d", "-1h", "3", "1w"} {
		var d age
		if err := d.Set(bad); err == nil {
			t.Errorf("%q is taken for %s", bad, &d)
		}
	}
}
