package spec

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

// FuzzParse checks that Parse and Check end soon for any text, do not panic, report
// the same findings each time, and report positions inside the file.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/valid/*")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	for _, s := range []string{
		"", "- a", "graphrun: v1\nname: x\nstart: a\nnodes: {a: {kind: pass}}\nedges: [{from: a, to: END}]\n", head + "nodes: [\n", head + "state: {n: {type: int, default: a}}\n" + tail,
		"a: &a [*a]", "a: {<<: [1, {b: c}]}", "? [a]\n: b", "\t- a", "a: !!int b", "a: 'b\n", "{\"graphrun\": \"v1\", \"name\": \"\\ud83d\\ude00\\/\"}", "a: \"\\q\"", "a: *b", "%YAML 3\n---\na", "a: |2\n  b\n --- \n", "\ufeffgraphrun: v1", "a\r- b\u0085c: d",
		node("kind: exec, command: ls"), node("kind: llm, prompt: {file: a}"), head + "goal: {file: a}\nx-a: &a {file: b}\npersona: *a\n" + tail, edge("from: END, to: [a, zz], when: 1, priority: x"),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		begin := time.Now()
		g, diags := Parse("f.yaml", src, Options{})
		diags = append(diags, Check(g)...).Sort()
		if took := time.Since(begin); took > time.Second {
			t.Fatalf("took %v", took)
		}
		for _, d := range diags {
			if d.Span.From < 0 || d.Span.To < d.Span.From || d.Span.To > len(src) {
				t.Fatalf("%s at %v of %d bytes", d.Rule, d.Span, len(src))
			}
			if d.Message == "" || d.File != g.File {
				t.Fatalf("%+v", d)
			}
		}
		if !diags.HasErrors() {
			checkSound(t, g)
		}
		again, repeated := Parse("f.yaml", src, Options{})
		repeated = append(repeated, Check(again)...).Sort()
		if len(diags) != len(repeated) {
			t.Fatalf("%d findings, then %d", len(diags), len(repeated))
		}
		for i := range diags {
			a, b := diags[i], repeated[i]
			a.File, b.File, a.Related, b.Related = nil, nil, nil, nil
			if !reflect.DeepEqual(a, b) {
				t.Fatalf("%+v, then %+v", a, b)
			}
		}
		IsGraph(src)
		if root, _ := loadMap(g.File, graphFile); root != nil {
			checkSpans(t, g.File, root)
		}
	})
}

// checkSound asserts the properties of graphs without errors that a run relies on.
func checkSound(t *testing.T, g *Graph) {
	if !g.IsComplete() || g.Node(g.Start.Value) == nil {
		t.Fatalf("no error, but an incomplete graph with start %q", g.Start.Value)
	}
	for i, n := range g.Nodes {
		if n.Index != i || n.hasUnknownExits || g.Node(n.ID.Value) != n || n.Kind.Value == "" {
			t.Fatalf("node %d: %+v", i, n)
		}
	}
	for i, e := range g.Edges {
		if e.Index != i || g.Node(e.From.Value) == nil || e.To.Value != END && g.Node(e.To.Value) == nil || e.Condition == "" || (e.Condition == "conditional") != (e.When.IsSet() && e.Condition != "on_failure") {
			t.Fatalf("edge %d: %+v", i, e)
		}
	}
}

// checkSpans asserts that every part of a tree lies in the file.
func checkSpans(t *testing.T, file *File, v *Value) {
	if v.Span.From < 0 || v.Span.To < v.Span.From || v.Span.To > len(file.Src) {
		t.Fatalf("a value at %v of %d bytes", v.Span, len(file.Src))
	}
	if v.IsScalar() {
		checkMap(t, file, v.Text)
	}
	for i := range v.Items {
		checkSpans(t, file, &v.Items[i])
	}
	for i := range v.Fields {
		checkMap(t, file, v.Fields[i].Key)
		checkSpans(t, file, &v.Fields[i].Value)
	}
}
