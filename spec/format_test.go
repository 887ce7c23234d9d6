// Formatting loses nothing, and formatting twice changes nothing.

package spec

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/internal/longtest"
)

func TestFormat(t *testing.T) {
	const ugly = `# top
graphrun: v1
start: a
name:   ugly
nodes:
    b: { kind: pass }   # b does nothing
    a:
        set: {n: "n + 1"}
        kind: set
        # why
        description: 'yes'
edges:
    # from a
    - { to: b, from: a, "when": "n > 0 # no comment" }
    - {from: b,to: END}
state: {n: {default: 0, type: integer}}
# the end
`
	const want = `# top
graphrun: v1
name: ugly
start: a
state: {n: {default: 0, type: integer}}

nodes:
  b: {kind: pass} # b does nothing
  a:
    kind: set
    # why
    description: 'yes'
    set: {n: n + 1}

edges:
  # from a
  - {from: a, to: b, when: "n > 0 # no comment"}
  - {from: b, to: END}
`
	got, err := Format("ugly.yaml", []byte(ugly), nil)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(got); !strings.HasPrefix(strings.ReplaceAll(text, "\n\n# the end", ""), want[:len(want)-1]) || !strings.Contains(text, "# the end") {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	checkForm(t, "ugly.yaml", []byte(ugly))
}

// checkForm checks the properties of a formatted text. kept is set if Format changes nothing.
func checkForm(t *testing.T, name string, src []byte) (kept bool) {
	t.Helper()
	out, err := Format(name, src, nil)
	if err != nil {
		return true // Format does not change a text that can't be read
	}
	again, err := Format(name, out, nil)
	if err != nil || !bytes.Equal(out, again) {
		t.Errorf("%s: the form of the form is another (%v):\n%s\nfirst\n%s", name, err, again, out)
	}
	if !reflect.DeepEqual(dataOf(name, src), dataOf(name, out)) {
		t.Errorf("%s: the form says something else:\n%s", name, out)
	}
	if !slices.Equal(comments(src), comments(out)) {
		t.Errorf("%s: comments %q, want %q", name, comments(out), comments(src))
	}
	return bytes.Equal(out, src)
}

// dataOf returns the data of a file.
func dataOf(name string, src []byte) any {
	root, _ := loadMap(NewFile(name, src), graphFile)
	if root == nil {
		return nil
	}
	return root.Data()
}

// Format works for every file of the repository, and changes at least one of them.
func TestFormatOfEveryFile(t *testing.T) {
	var files []string
	for _, pattern := range []string{"../examples/*/*.yaml", "../internal/templates/*/*.yaml", "../testdata/*/*.yaml", "testdata/*/*.yaml"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	changed, every := 0, longtest.Choose(4, 1)
	for i, name := range files {
		if i%every > 0 {
			continue
		}
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !checkForm(t, name, src) {
			changed++
		}
	}
	if changed == 0 || len(files) < 240 {
		t.Errorf("%d of %d files have another form", changed, len(files))
	}
}

func FuzzFormat(f *testing.F) {
	f.Add([]byte("graphrun: v1 # a\n\n# b\nnodes:\n  # c\n  a: {kind: pass, # d\n    x-a: [1, # e\n    2]}\nname: n\nstart: a\nedges: [{from: a, to: END}]\n"))
	f.Add([]byte("graphrun: v1\nname: n\nnodes:\n- # x\n  a\n# y\nstart: |\n  # no comment\n  a\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) < 4096 {
			checkForm(t, "fuzz.yaml", src)
		}
	})
}

// Keys have the order of the reference page.
func TestFormatOrder(t *testing.T) {
	const mixed = `policies: []
limits: {max_steps: 9}
models: {default: scripted/a.yaml}
edges: [{to: END, from: a}]
nodes:
  a: {expect: [200], body: {}, url: "https://example.com", method: PUT, max_concurrency: 2, each: "[1]", kind: http}
start: a
name: mixed
graphrun: v1
`
	const want = `graphrun: v1
name: mixed
start: a

nodes:
  a: {kind: http, each: "[1]", max_concurrency: 2, method: PUT, url: "https://example.com", body: {}, expect: [200]}

edges: [{from: a, to: END}]
models: {default: scripted/a.yaml}
limits: {max_steps: 9}
policies: []
`
	got, err := Format("mixed.yaml", []byte(mixed), nil)
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, got)
	}
}
