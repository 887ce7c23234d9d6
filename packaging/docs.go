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
	"testing/fstest"
	"text/template"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/graphrun/graphrun/internal/cli"
)

// addDocs adds a man page for each command, and the completions of four shells.
func (r *release) addDocs(files fstest.MapFS) error {
	root := cli.Command()
	root.DisableAutoGenTag = true
	if err := r.addManPages(files, root); err != nil {
		return err
	}
	var bash, zsh, fish, shell bytes.Buffer
	err := errors.Join(root.GenBashCompletionV2(&bash, true), root.GenZshCompletion(&zsh), root.GenFishCompletion(&fish, true),
		root.GenPowerShellCompletionWithDesc(&shell))
	for name, text := range map[string]*bytes.Buffer{"graphrun.bash": &bash, "_graphrun": &zsh, "graphrun.fish": &fish, "graphrun.ps1": &shell} {
		files["completions/"+name] = r.newFile(text.Bytes(), 0o644)
	}
	return err
}

// addManPages adds the man pages of a command and of those below it.
func (r *release) addManPages(files fstest.MapFS, cmd *cobra.Command) error {
	var page bytes.Buffer
	w, _ := gzip.NewWriterLevel(&page, gzip.BestCompression) // the level is valid
	header := &doc.GenManHeader{Title: "GRAPHRUN", Section: "1", Source: "graphrun", Manual: "graphrun", Date: &r.time}
	if err := errors.Join(doc.GenMan(cmd, header, w), w.Close()); err != nil {
		return err
	}
	files["man/"+strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1.gz"] = r.newFile(page.Bytes(), 0o644)
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && !c.IsAdditionalHelpTopicCommand() {
			if err := r.addManPages(files, c); err != nil {
				return err
			}
		}
	}
	return nil
}

//go:embed graphrun.rb.tmpl
var formula string

// writeFormula writes the Homebrew formula, if all its archives were built.
func (r *release) writeFormula() error {
	sums := map[string]string{}
	version := strings.TrimPrefix(r.version, "v")
	for _, t := range targets {
		if t.os == "windows" {
			continue
		}
		sum, err := computeChecksum(filepath.Join(r.out, fmt.Sprintf("graphrun_%s_%s_%s.tar.gz", version, t.os, t.arch)))
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
