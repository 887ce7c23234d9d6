// Man pages, completions and the Homebrew formula.

package main

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"

	"github.com/spf13/cobra/doc"

	"github.com/graphrun/graphrun/internal/cli"
)

// writeDocs returns a man page for each command, and the completions of four shells.
func writeDocs(at time.Time) ([]file, error) {
	root := cli.Command()
	root.DisableAutoGenTag = true
	dir, err := os.MkdirTemp("", "graphrun-man-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := doc.GenManTree(root, &doc.GenManHeader{Title: "GRAPHRUN", Section: "1", Source: "graphrun", Manual: "graphrun", Date: &at}, dir); err != nil {
		return nil, err
	}
	pages, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []file
	for _, e := range pages {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		var zipped bytes.Buffer
		w, err := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(text); err != nil {
			return nil, err
		}
		if err := w.Close(); err != nil {
			return nil, err
		}
		out = append(out, file{name: "man/" + e.Name() + ".gz", text: zipped.Bytes(), mode: 0o644})
	}
	for _, shell := range []struct {
		name  string
		write func(*bytes.Buffer) error
	}{
		{"graphrun.bash", func(b *bytes.Buffer) error { return root.GenBashCompletionV2(b, true) }},
		{"_graphrun", func(b *bytes.Buffer) error { return root.GenZshCompletion(b) }},
		{"graphrun.fish", func(b *bytes.Buffer) error { return root.GenFishCompletion(b, true) }},
		{"graphrun.ps1", func(b *bytes.Buffer) error { return root.GenPowerShellCompletionWithDesc(b) }},
	} {
		var b bytes.Buffer
		if err := shell.write(&b); err != nil {
			return nil, err
		}
		out = append(out, file{name: "completions/" + shell.name, text: b.Bytes(), mode: 0o644})
	}
	return out, nil
}

//go:embed graphrun.rb.tmpl
var formula string

// formula writes the Homebrew formula, if all its archives were built.
func (r *release) formula() error {
	sums := map[string]string{}
	version := strings.TrimPrefix(r.version, "v")
	for _, t := range targets {
		if t.os == "windows" {
			continue
		}
		sum, err := checksum(filepath.Join(r.out, fmt.Sprintf("graphrun_%s_%s_%s.tar.gz", version, t.os, t.arch)))
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil {
			return err
		}
		sums[t.os+"_"+t.arch] = sum
	}
	var b bytes.Buffer
	if err := template.Must(template.New("").Parse(formula)).Execute(&b, map[string]any{"Version": version, "Sums": sums}); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, "graphrun.rb"), b.Bytes(), 0o644)
}
