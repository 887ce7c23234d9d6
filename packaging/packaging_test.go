package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	rpmutils "github.com/sassoftware/go-rpmutils"
)

// The packages of this platform hold what they should, and install, run and go away.
func TestPackages(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("deb and rpm are for linux")
	}
	dist := filepath.Join(t.TempDir(), "dist")
	if err := makeRelease("v0.1.0", dist, "linux-"+runtime.GOARCH); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dist, "graphrun_0.1.0_linux_"+runtime.GOARCH)
	folder := filepath.Base(name) + "/"
	want := func(what string, have []string, prefix string, names ...string) {
		t.Helper()
		for _, n := range names {
			if !slices.Contains(have, prefix+n) {
				t.Errorf("%s lacks %s", what, prefix+n)
			}
		}
	}
	want("the archive", tarNames(t, name+".tar.gz"), folder,
		"graphrun", "LICENSE", "README.md", "CHANGELOG.md", "man/graphrun.1.gz", "man/graphrun-run.1.gz",
		"completions/graphrun.bash", "completions/_graphrun", "completions/graphrun.fish", "completions/graphrun.ps1")
	system := []string{
		"/usr/bin/graphrun", "/usr/share/man/man1/graphrun.1.gz", "/usr/share/man/man1/graphrun-run.1.gz", "/usr/share/doc/graphrun/LICENSE",
		"/usr/share/bash-completion/completions/graphrun", "/usr/share/zsh/site-functions/_graphrun", "/usr/share/fish/vendor_completions.d/graphrun.fish",
	}
	file, err := os.Open(name + ".rpm")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	header, err := rpmutils.ReadRpm(file)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := header.Header.GetFiles()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range packed {
		names = append(names, f.Name())
	}
	want("the rpm", names, "", system...)
	if text, err := os.ReadFile(name + ".cdx.json"); err != nil || !strings.Contains(string(text), `"pkg:golang/github.com/spf13/cobra@`) {
		t.Errorf("the components lack cobra: %v", err)
	}
	t.Run("deb", func(t *testing.T) { installDeb(t, name+".deb", system) })
	t.Run("script", func(t *testing.T) { installScript(t, dist) })
}

// The image has the program, certificates and a shell, and runs a flow. GRAPHRUN_TEST_IMAGE is
// the folder where .ci/image has mounted it.
func TestImage(t *testing.T) {
	root := os.Getenv("GRAPHRUN_TEST_IMAGE")
	if root == "" {
		t.Skip("GRAPHRUN_TEST_IMAGE is not set")
	}
	for _, name := range []string{"usr/bin/graphrun", "etc/ssl/certs/ca-certificates.crt", "usr/bin/sh", "work"} {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(root, "src")); err == nil {
		t.Error("the sources are in the image")
	}
	flow := "graphrun: v1\nname: hello\nstart: a\nnodes: {a: {kind: exec, command: [echo, hi], timeout: 5s}}\nedges: [{from: a, to: END}]\n"
	if err := os.WriteFile(filepath.Join(root, "work", "hello.yaml"), []byte(flow), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("chroot", root, "graphrun", "run", "/work/hello.yaml", "-q", "--store", "memory").CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "hi" {
		t.Errorf("%v: %s", err, out)
	}
}

func tarNames(t *testing.T, path string) (out []string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(unzipped); ; {
		header, err := r.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, header.Name)
	}
}

// command runs a program and returns what it prints.
func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// installDeb installs the package in an empty root, and removes it.
func installDeb(t *testing.T, path string, files []string) {
	if _, err := exec.LookPath("dpkg"); err != nil {
		t.Skip("dpkg is not there")
	}
	root := t.TempDir()
	for _, dir := range []string{"info", "updates", "triggers"} {
		if err := os.MkdirAll(filepath.Join(root, "var/lib/dpkg", dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"status", "available"} {
		if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg", name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	command(t, "dpkg", "--force-not-root", "--force-architecture", "--log=/dev/null", "--root="+root, "-i", path)
	for _, name := range files {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Error(err)
		}
	}
	if out := command(t, filepath.Join(root, "usr/bin/graphrun"), "version"); !strings.HasPrefix(out, "graphrun v0.1.0 (commit ") {
		t.Errorf("version says %s", out)
	}
	page, err := os.Open(filepath.Join(root, "usr/share/man/man1/graphrun-run.1.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer page.Close()
	unzipped, err := gzip.NewReader(page)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(unzipped); err != nil || !bytes.Contains(text, []byte(".SH SYNOPSIS")) || !bytes.Contains(text, []byte("--max-steps")) {
		t.Errorf("the page of run lacks its parts: %v", err)
	}
	command(t, "dpkg", "--force-not-root", "--log=/dev/null", "--root="+root, "-r", "graphrun")
	if _, err := os.Stat(filepath.Join(root, "usr/bin/graphrun")); !os.IsNotExist(err) {
		t.Errorf("after the removal: %v", err)
	}
}

// installScript installs from a release on a server of its own, and refuses a wrong file.
func installScript(t *testing.T, dist string) {
	damaged := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		base := filepath.Base(r.URL.Path)
		if damaged && strings.HasSuffix(base, ".tar.gz") {
			_, _ = w.Write([]byte("other"))
			return
		}
		http.ServeFile(w, r, filepath.Join(dist, base))
	}))
	defer server.Close()
	install := func(version, dir string) (string, error) {
		cmd := exec.Command("sh", "install.sh", version)
		cmd.Env = append(os.Environ(), "GRAPHRUN_RELEASES="+server.URL, "GRAPHRUN_INSTALL_DIR="+dir)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	versions := []string{"v0.1.0"}
	if runtime.GOARCH == "amd64" { // by whose archive the script finds the latest
		versions = append(versions, "latest")
	}
	for _, version := range versions {
		dir := t.TempDir()
		if out, err := install(version, dir); err != nil || !strings.Contains(out, "graphrun v0.1.0 is in "+dir) {
			t.Fatalf("%s: %v\n%s", version, err, out)
		}
		if out := command(t, filepath.Join(dir, "graphrun"), "version"); !strings.HasPrefix(out, "graphrun v0.1.0 ") {
			t.Errorf("version says %s", out)
		}
	}
	damaged = true
	dir := t.TempDir()
	out, err := install("v0.1.0", dir)
	if err == nil || !strings.Contains(out, "the checksum of ") {
		t.Errorf("%v\n%s", err, out)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("a wrong file was installed")
	}
}
