package spec

import (
	"encoding/json"
	"testing"
)

// All files share the tables, so no file and no program may change them.
func TestTablesStayAsTheyAre(t *testing.T) {
	image := func() string {
		text, err := json.Marshal([]any{TopKeys, BuiltinKinds, NodeKeys, schemaKeywords(), policyKeys})
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
	Topics(opts)
	if after := image(); after != before {
		t.Errorf("the tables were\n%s\nand are\n%s", before, after)
	}
}

// TestTagsNameKeys checks that the tag of each field of a graph names a key of the table.
func TestTagsNameKeys(t *testing.T) {
	known := map[string]bool{}
	for _, topic := range Topics(Options{}) {
		known[topic.Name] = true
	}
	fields := 0
	for holder, slots := range fieldsOf() {
		for name := range slots {
			fields++
			if !known[name] {
				t.Errorf("%v has a field for %q, which is not a key", holder, name)
			}
		}
	}
	if fields < 80 {
		t.Errorf("only %d fields have keys", fields)
	}
}

// TestTopics checks that the topics cover all keys, and that each topic has a description.
func TestTopics(t *testing.T) {
	topics := Topics(Options{})
	for _, topic := range topics {
		if topic.Doc == "" && topic.Value == "" {
			t.Errorf("%s %q says nothing", topic.Path, topic.Name)
		}
	}
	if len(topics) < 200 {
		t.Errorf("only %d topics", len(topics))
	}
}
