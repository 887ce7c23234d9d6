// Archives, the list of components, and packages for Linux.

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing/fstest"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// writeTar writes files as a .tar.gz.
func writeTar(path string, files fs.FS) error {
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	w := tar.NewWriter(zipped)
	if err := errors.Join(w.AddFS(files), w.Close(), zipped.Close()); err != nil {
		return err
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}

// writeZip writes files as a zip archive, as Windows users expect.
func writeZip(path string, files fs.FS) error {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	if err := errors.Join(w.AddFS(files), w.Close()); err != nil {
		return err
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}

// writeComponents writes the modules that a binary is linked from, as CycloneDX.
func writeComponents(path, binary, version string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	component := func(name, version string) cdx.Component {
		return cdx.Component{Type: cdx.ComponentTypeLibrary, Name: name, Version: version, PackageURL: "pkg:golang/" + name + "@" + version}
	}
	main := component(info.Main.Path, version)
	main.Type = cdx.ComponentTypeApplication
	parts := []cdx.Component{component("std", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, m := range info.Deps {
		parts = append(parts, component(m.Path, m.Version))
	}
	bom := cdx.NewBOM()
	bom.Metadata, bom.Components = &cdx.Metadata{Component: &main}, &parts
	var out bytes.Buffer
	if err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		return err
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}

// writePackage writes a deb or an rpm.
func (r *release) writePackage(path, format, arch string, list fstest.MapFS) error {
	dir, err := os.MkdirTemp("", "graphrun-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, list); err != nil {
		return err
	}
	var contents files.Contents
	for _, name := range slices.Sorted(maps.Keys(list)) {
		if to := installPath(name); to != "" {
			mode := &files.ContentFileInfo{Mode: list[name].Mode, MTime: r.time}
			contents = append(contents, &files.Content{Source: filepath.Join(dir, name), Destination: to, FileInfo: mode})
		}
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "graphrun", Arch: arch, Platform: "linux", Version: r.version, Section: "devel", Priority: "optional", MTime: r.time,
		Maintainer: "The graphrun authors <graphrun@users.noreply.github.com>", License: "Apache-2.0", Homepage: "https://github.com/graphrun/graphrun",
		Description:  "Run, check, test, explain and draw workflows that are declared as graphs.",
		Overridables: nfpm.Overridables{Contents: contents},
	})
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := packager.Package(info, &out); err != nil {
		return err
	}
	return os.WriteFile(path+"."+format, out.Bytes(), 0o644)
}

// installPath returns where a package installs a file of an archive, or "".
func installPath(name string) string {
	switch {
	case name == "graphrun":
		return "/usr/bin/graphrun"
	case strings.HasPrefix(name, "man/"):
		return "/usr/share/man/man1/" + filepath.Base(name)
	case name == "completions/graphrun.bash":
		return "/usr/share/bash-completion/completions/graphrun"
	case name == "completions/_graphrun":
		return "/usr/share/zsh/site-functions/_graphrun"
	case name == "completions/graphrun.fish":
		return "/usr/share/fish/vendor_completions.d/graphrun.fish"
	case name == "LICENSE", name == "CHANGELOG.md":
		return "/usr/share/doc/graphrun/" + name
	}
	return ""
}
