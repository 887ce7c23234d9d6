package spec

import (
	"encoding/json"
	"strings"
	"testing"
)

// All files share the tables: whatever a file or a program brings, they stay as
// they are.
func TestTablesStayAsTheyAre(t *testing.T) {
	image := func() string {
		text, err := json.Marshal([]any{TopKeys(), BuiltinKinds(), language().common, language().keywords, language().policy})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	before := image()
	opts := Options{Kinds: []Kind{{Name: "shout", Keys: []Key{{Name: "text", Type: TypeString}}}, {Name: "set"}}}
	for _, src := range []string{
		"graphrun: v1\nname: no-start\nnodes: {a: {kind: shout, txt: x}}\n",
		"graphrun: v1\nname: typos\nstart: a\nstate: {k: {tpye: string}}\nnodes: {a: {kind: sett, ouput: {}}, b: {kind: llm, command: x}}\npolicies: [{nevr: x}]\n",
	} {
		g, found := Parse("f.yaml", []byte(src), opts)
		if !found.HasErrors() {
			t.Errorf("no error in %s", src)
		}
		Check(g)
	}
	Schema(opts)
	Reference(opts)
	if after := image(); after != before {
		t.Errorf("the tables were\n%s\nand are\n%s", before, after)
	}
}

// TestTagsNameKeys checks that each field of a graph is for a key of the table.
func TestTagsNameKeys(t *testing.T) {
	known := map[string]bool{}
	for _, topic := range Topics(Options{}) {
		known[topic.Name] = true
	}
	fields := 0
	for holder, slots := range language().slots {
		for name := range slots {
			fields++
			if !known[name] {
				t.Errorf("%v has a field for %q, which is no key", holder, name)
			}
		}
	}
	if fields < 80 {
		t.Errorf("only %d fields have keys", fields)
	}
}

// TestTopics: every key that the reference page lists is a topic.
func TestTopics(t *testing.T) {
	known := map[string]bool{}
	for _, topic := range Topics(Options{}) {
		known[topic.Name] = true
		if topic.Doc == "" && topic.Value == "" {
			t.Errorf("%s %q says nothing", topic.Path, topic.Name)
		}
	}
	rows := 0
	for line := range strings.Lines(Reference(Options{})) {
		name, ok := strings.CutPrefix(line, "| `")
		if !ok {
			continue
		}
		rows++
		if name, _, _ = strings.Cut(name, "`"); !known[name] {
			t.Errorf("%q can't be explained", name)
		}
	}
	if rows < 100 {
		t.Errorf("the page has only %d keys", rows)
	}
}
