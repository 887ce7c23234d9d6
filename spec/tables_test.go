package spec

import (
	"encoding/json"
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
