package spec

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := json.Marshal(Schema(Options{}))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("graph.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("graph.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// genericValue returns the value of a file in the form that the JSON Schema library needs.
func genericValue(t *testing.T, text string) any {
	t.Helper()
	root, diags := loadMap(NewFile("f.yaml", []byte(text)), graphFile)
	if root == nil {
		t.Fatal(diags)
	}
	data, err := json.Marshal(root.Data())
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func TestSchemaAcceptsValidFiles(t *testing.T) {
	schema := compileSchema(t)
	files, err := filepath.Glob("testdata/valid/*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(genericValue(t, string(src))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSchemaRefuses(t *testing.T) {
	schema := compileSchema(t)
	for _, text := range []string{
		tail, strings.Replace(head, "v1", "v2", 1) + tail, head + tail + "limit: 1\n", head + tail + "limits: {max_steps: 0}\n", head + tail + "retry: {jitter: 2}\n",
		head + tail + "limits: {timeout: 10}\n", head + "state: {a-b: {}}\n" + tail, head + "state: {a: {defualt: 1}}\n" + tail, head + "state: {a: {type: int}}\n" + tail,
		node("kind: pass, timout: 3s"), node("kind: exce"), node("kind: exec"), node("kind: exec, command: [a], script: b"), node("kind: agent, retry: {max_attempts: 2}"),
		node("kind: pass, command: [a]"), node("kind: human, prompt: x, choices: [a], schema: {}"), edge("from: a"), edge("from: a, to: b, wen: x"), edge("from: a, to: b, condition: sometimes"),
	} {
		if schema.Validate(genericValue(t, text)) == nil {
			t.Errorf("accepted:\n%s", text)
		}
	}
}

// The schema's pattern accepts the same durations as Parse.
func TestSchemaDurations(t *testing.T) {
	schema := compileSchema(t)
	for _, d := range []string{"1s", "1h30m", "0.5s", ".5s", "1.s", "500ms", "0", "'0'", "3us", "1d", "s", "''", "1", "1s2", "-1s", "+1s"} {
		text := head + tail + "retry: {initial_interval: " + d + "}\n"
		_, diags := parseAndCheck(text)
		if got, want := schema.Validate(genericValue(t, text)) == nil, len(diags) == 0; got != want {
			t.Errorf("%s: the schema says %v, the parser %v", d, got, want)
		}
	}
}

func TestSchemaIsStable(t *testing.T) {
	one, _ := json.Marshal(Schema(Options{}))
	two, _ := json.Marshal(Schema(Options{}))
	if !bytes.Equal(one, two) {
		t.Error("two schemas differ")
	}
}

// Every key of the table has a Doc sentence, which the reference page and editors show.
func TestEveryKeyIsDocumented(t *testing.T) {
	var walk func(path string, keys []Key)
	var inside func(path string, k *Key)
	inside = func(path string, k *Key) {
		if k.Type == 0 {
			t.Errorf("%s has no type", path)
		}
		walk(path, k.Keys)
		if k.Elem != nil {
			inside(path, k.Elem)
		}
		for i := range k.Forms {
			inside(path, &k.Forms[i])
		}
	}
	walk = func(path string, keys []Key) {
		for i := range keys {
			k := &keys[i]
			if k.Doc == "" || !strings.HasSuffix(k.Doc, ".") {
				t.Errorf("%s.%s: %q is no sentence", path, k.Name, k.Doc)
			}
			inside(path+"."+k.Name, k)
		}
	}
	walk("", TopKeys)
	walk("nodes", NodeKeys)
	for _, kind := range BuiltinKinds {
		walk(kind.Name, kind.Keys)
	}
	topics := Topics(Options{Kinds: []Kind{{Name: "mail", Doc: "Sends mail."}}})
	if i := slices.IndexFunc(topics, func(t Topic) bool { return t.Kind == "mail" }); i < 0 || topics[i].Doc != "Sends mail." {
		t.Error("no topic for the kind of a program")
	}
}
