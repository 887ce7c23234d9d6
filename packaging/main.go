// Command packaging makes the files of a release: archives for every platform, deb and
// rpm packages, a list of components (CycloneDX), checksums and a Homebrew formula.
//
//	go run . -version v0.1.0 -out ../dist
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing/fstest"
	"time"
)

// target is a platform that a release is built for.
type target struct{ os, arch string }

func (t target) String() string { return t.os + "-" + t.arch }

var targets = []target{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"},
}

// release is one set of packages.
type release struct {
	version string // such as v0.1.0
	out     string
	commit  string
	time    time.Time // of the commit: the same commit gives the same files
}

func main() {
	version := flag.String("version", "", "the version to build, such as v0.1.0; required")
	out := flag.String("out", "dist", "the folder to write to; it must not exist")
	only := flag.String("only", "", "build these platforms only, such as linux-amd64,darwin-arm64")
	flag.Parse()
	if *version == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := makeRelease(*version, *out, *only); err != nil {
		fmt.Fprintln(os.Stderr, "packaging:", err)
		os.Exit(1)
	}
}

func makeRelease(version, out, only string) error {
	chosen := targets
	if only != "" {
		chosen = nil
		for _, name := range strings.Split(only, ",") {
			i := slices.IndexFunc(targets, func(t target) bool { return t.String() == name })
			if i < 0 {
				return fmt.Errorf("unknown platform %q; there are %v", name, targets)
			}
			chosen = append(chosen, targets[i])
		}
	}
	out, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	if err := os.Mkdir(out, 0o755); err != nil {
		return err
	}
	r := &release{version: version, out: out}
	stamp, err := exec.Command("git", "log", "-1", "--format=%H %cI").Output()
	if err != nil {
		return fmt.Errorf("the commit: %w", err)
	}
	commit, at, _ := strings.Cut(strings.TrimSpace(string(stamp)), " ")
	r.commit = commit
	if r.time, err = time.Parse(time.RFC3339, at); err != nil {
		return err
	}
	for _, t := range chosen {
		fmt.Fprintln(os.Stderr, "packaging:", t)
		if err := r.packTarget(t); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
	}
	return errors.Join(r.writeChecksums(), r.writeFormula())
}

// packTarget builds a binary and its packages.
func (r *release) packTarget(t target) error {
	dir, err := os.MkdirTemp("", "graphrun-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "graphrun")
	if t.os == "windows" {
		binary += ".exe"
	}
	build := exec.Command("go", "build", "-trimpath", "-ldflags", r.formatLDFlags(), "-o", binary, "./cmd/graphrun")
	build.Dir, build.Stderr = "..", os.Stderr
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.os, "GOARCH="+t.arch)
	if err := build.Run(); err != nil {
		return err
	}
	files := fstest.MapFS{}
	if err := r.addDocs(files); err != nil {
		return err
	}
	for path, mode := range map[string]os.FileMode{binary: 0o755, "../LICENSE": 0o644, "../README.md": 0o644, "../CHANGELOG.md": 0o644} {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files[filepath.Base(path)] = r.newFile(text, mode)
	}
	name := fmt.Sprintf("graphrun_%s_%s_%s", strings.TrimPrefix(r.version, "v"), t.os, t.arch)
	target := filepath.Join(r.out, name)
	if t.os == "windows" {
		err = writeZip(target+".zip", r.moveToFolder(name, files))
	} else {
		err = writeTar(target+".tar.gz", r.moveToFolder(name, files))
	}
	err = errors.Join(err, writeComponents(target+".cdx.json", binary, r.version))
	if t.os == "linux" {
		err = errors.Join(err, r.writePackage(target, "deb", t.arch, files), r.writePackage(target, "rpm", t.arch, files))
	}
	return err
}

// newFile returns a file with the time of the release.
func (r *release) newFile(data []byte, mode os.FileMode) *fstest.MapFile {
	return &fstest.MapFile{Data: data, Mode: mode, ModTime: r.time}
}

// moveToFolder returns files and their folders below a folder.
func (r *release) moveToFolder(folder string, files fstest.MapFS) fstest.MapFS {
	out := fstest.MapFS{folder: r.newFile(nil, os.ModeDir|0o755)}
	for name, file := range files {
		out[folder+"/"+name] = file
		out[path.Dir(folder+"/"+name)] = out[folder]
	}
	return out
}

// formatLDFlags returns the linker flags that set the version, commit and time of the binary.
func (r *release) formatLDFlags() string {
	return "-s -w -X github.com/graphrun/graphrun/internal/cli.release=" + r.version + "," + r.commit + "," + r.time.UTC().Format(time.RFC3339)
}

// writeChecksums writes checksums.txt in the form of sha256sum.
func (r *release) writeChecksums() error {
	names, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, e := range names {
		sum, err := computeChecksum(filepath.Join(r.out, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s  %s\n", sum, e.Name())
	}
	return os.WriteFile(filepath.Join(r.out, "checksums.txt"), []byte(b.String()), 0o644)
}

func computeChecksum(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}
