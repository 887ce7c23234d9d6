// Man pages, completions and the Homebrew formula.

package main

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"errors"
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
		w, _ := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
		_, err = w.Write(text)
		if err := errors.Join(err, w.Close()); err != nil {
			return nil, err
		}
		out = append(out, file{"man/" + e.Name() + ".gz", zipped.Bytes(), 0o644})
	}
	var bash, zsh, fish, shell bytes.Buffer
	err = errors.Join(root.GenBashCompletionV2(&bash, true), root.GenZshCompletion(&zsh), root.GenFishCompletion(&fish, true),
		root.GenPowerShellCompletionWithDesc(&shell))
	return append(out,
		file{"completions/graphrun.bash", bash.Bytes(), 0o644}, file{"completions/_graphrun", zsh.Bytes(), 0o644},
		file{"completions/graphrun.fish", fish.Bytes(), 0o644}, file{"completions/graphrun.ps1", shell.Bytes(), 0o644}), err
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
