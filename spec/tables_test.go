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
