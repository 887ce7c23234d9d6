// Archives, the list of components, and packages for Linux.

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// file is one to be packed.
type file struct {
	name string
	text []byte
	mode os.FileMode
}

// writeTar writes a .tar.gz whose files stand in one folder.
func writeTar(path, folder string, list []file, at time.Time) error {
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	w := tar.NewWriter(zipped)
	for _, f := range list {
		header := &tar.Header{Name: folder + "/" + f.name, Mode: int64(f.mode), Size: int64(len(f.text)), ModTime: at}
		if err := w.WriteHeader(header); err != nil {
			return err
		}
		if _, err := w.Write(f.text); err != nil {
			return err
		}
	}
	if err := errors.Join(w.Close(), zipped.Close()); err != nil {
		return err
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}

// writeZip writes the files as a zip archive, as Windows users expect.
func writeZip(path, folder string, list []file, at time.Time) error {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range list {
		header := &zip.FileHeader{Name: folder + "/" + f.name, Method: zip.Deflate, Modified: at}
		header.SetMode(f.mode)
		part, err := w.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := part.Write(f.text); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
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
func (r *release) writePackage(path, format, arch string, list []file) error {
	dir, err := os.MkdirTemp("", "graphrun-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var contents files.Contents
	for i, f := range list {
		to := installed(f.name)
		if to == "" {
			continue
		}
		from := filepath.Join(dir, strconv.Itoa(i))
		if err := os.WriteFile(from, f.text, 0o644); err != nil {
			return err
		}
		contents = append(contents, &files.Content{Source: from, Destination: to, FileInfo: &files.ContentFileInfo{Mode: f.mode, MTime: r.time}})
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
	return os.WriteFile(path, out.Bytes(), 0o644)
}

// installed returns where a file of an archive is installed, or "".
func installed(name string) string {
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
