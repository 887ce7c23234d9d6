package spec

import (
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// unmark removes «» and returns the span between them.
func unmark(t *testing.T, text string) (string, Span) {
	t.Helper()
	from := strings.Index(text, "«")
	to := strings.Index(text, "»") - len("«")
	if from < 0 || to < from {
		t.Fatalf("no «mark» in %q", text)
	}
	return strings.NewReplacer("«", "", "»", "").Replace(text), Span{from, to}
}

// scalars returns the texts of a tree, including its keys.
func scalars(v *Value) []Text {
	var out []Text
	if v.IsScalar() {
		out = append(out, v.Text)
	}
	for i := range v.Items {
		out = append(out, scalars(&v.Items[i])...)
	}
	for i := range v.Fields {
		out = append(out, v.Fields[i].Key)
		out = append(out, scalars(&v.Fields[i].Value)...)
	}
	return out
}

// The span of the word foo of the decoded scalar must be the mark.
func TestAt(t *testing.T) {
	for name, marked := range map[string]string{
		"plain":                 "a:\n  when: state.x < «foo» && y\n",
		"plain at once":         "a: «foo»",
		"plain over lines":      "when: a &&\n  b &&   \n  «foo»\n",
		"plain with empty line": "when: a\n\n\n  «foo»\n",
		"plain behind tab":      "when: \t«foo»\n",
		"plain in flow":         "x: {name: \"日本語\", when: a < «foo», z: 1}\n",
		"plain flow over lines": "x: [a\n  b «foo»,\n c]\n",
		"single":                "when: 'it''s «foo» x'\n",
		"single over lines":     "when: 'it''s\n   b\n\n   ''«foo»'' x'\n",
		"double":                "when: \"a\\t\\u00e9\\U0001F600\\x41\\N\\_\\L\\P \\\"q\\\" «foo» x\"\n",
		"double escaped foo":    "when: \"é«f\\x6F\\u006f» x\"\n",
		"double over lines":     "when: \"a &&\n  b\n\n  «foo»\"\n",
		"double joined lines":   "when: \"a \\\n  «foo»\"\n",
		"double joined gap":     "when: \"a \\\n\n\n  «foo»\"\n",
		"double tab escape":     "when: \"a\\\t«foo»\"\n",
		"literal":               "n:\n  when: |\n    line1 &&\n      «foo» > 2\n    z\n",
		"literal strip":         "n:\n  when: |-\n    line1 &&\n    «foo»\nm: 1\n",
		"literal keep":          "n:\n  when: |+\n    line1 &&\n    «foo»\n\n\nm: 1\n",
		"literal empty lines":   "n:\n  when: |\n\n    a\n\n    «foo»\n",
		"literal short blanks":  "n:\n  when: |\n \n    a\n  \n    «foo»\n",
		"literal indent 1":      "n:\n  when: |1\n    a\n     «foo»\n",
		"literal indent 2-":     "n:\n  when: |2-\n      a\n    «foo»\n",
		"literal -2":            "n:\n  when: |-2\n      a\n    «foo»\n",
		"literal in list":       "- |\n  a\n  «foo»\n",
		"literal no end":        "n: |\n  a\n  «foo»",
		"literal comment":       "n:\n  when: | # c 2\n    a\n    «foo»\n",
		"literal tab":           "n: |\n  a\n  \t«foo»\n",
		"folded":                "n:\n  when: >\n    a &&\n    «foo» > 2\n\n    z\n",
		"folded paragraphs":     "n:\n  when: >-\n    a\n\n\n    «foo»\n    b\n",
		"folded more indented":  "n:\n  when: >\n    a\n      b\n\n      c\n    d\n    «foo»\n",
		"folded starts blank":   "n:\n  when: >2\n\n       b\n    «foo»\n",
		"unicode key":           "ключ: \"日本語 «foo»\"\n",
		"tagged":                "when: !!str a «foo»\n",
		"tagged over lines":     "when: !!str &x # c\n  a «foo»\n",
		"anchored":              "when: &w a «foo»\n",
		"anchored literal":      "when: &w |\n  a\n  «foo»\n",
		"anchor in flow":        "x: [&w a, !<tag:yaml.org,2002:str> «foo»]\n",
		"anchored colon":        "x: &w:«foo»\n",
		"list":                  "- a\n- 'b «foo»'\n",
		"crlf literal":          "n:\r\n  when: |\r\n    a\r\n    «foo» é\r\n",
		"crlf folded":           "n:\r\n  when: >\r\n    a\r\n    «foo» é\r\n",
		"crlf plain":            "n:\r\n  when: a\r\n    «foo» é\r\n",
		"bom":                   "\ufeffa: é «foo»\n",
		"bom in json":           "\ufeff{\"é\": \"é «foo»\"}",
		"json surrogates":       "{\"a\": \"\\ud83d\\ude00\\/\", \"b\": \"\\ud83d\\ude00 \\/ «foo»\"}",
		"key":                   "a: {\"é«foo»\": 1}",
	} {
		t.Run(name, func(t *testing.T) {
			text, want := unmark(t, marked)
			if strings.HasPrefix(text, "- ") {
				text = "a:\n" + text
				want = Span{want.From + 3, want.To + 3}
			}
			root, diags := loadMap(NewFile("f.yaml", []byte(text)), graphFile)
			if root == nil {
				t.Fatalf("not read: %v", diags)
			}
			for _, s := range scalars(root) {
				if i := strings.Index(s.Value, "foo"); i >= 0 {
					if got := s.At(i, i+3); got != want {
						t.Errorf("foo of %q is at %v %q, want %v %q (scalar %q)", s.Value, got, text[got.From:got.To], want, text[want.From:want.To], text[s.Span.From:s.Span.To])
					}
					if got := s.At(i, i); got.From != want.From || got.To != want.From {
						t.Errorf("an empty range at foo is %v, want [%d,%d)", got, want.From, want.From)
					}
					return
				}
			}
			t.Fatal("no foo")
		})
	}
}

func TestAtEnds(t *testing.T) {
	src := "a: 'b  c'\nd: |\n  e f\n  g\n"
	root, _ := loadMap(NewFile("f.yaml", []byte(src)), graphFile)
	quoted, block := root.Fields[0].Value.Text, root.Fields[1].Value.Text
	for _, c := range []struct {
		text     Text
		from, to int
		want     string
	}{
		{quoted, 0, 4, "b  c"},
		{quoted, 1, 2, " "},
		{quoted, 2, 9, " c"},
		{quoted, -1, 1, "b"},
		{quoted, 9, 9, ""},
		{quoted, 3, 1, ""},
		{block, 0, 5, "e f\n  g"},
		{block, 3, 4, "\n"},
		{block, 4, 5, "g"},
		{block, 6, 6, ""},
	} {
		if got := c.text.At(c.from, c.to); src[got.From:got.To] != c.want {
			t.Errorf("[%d,%d) of %q is %q, want %q", c.from, c.to, c.text.Value, src[got.From:got.To], c.want)
		}
	}
	if span := (Text{Value: "x", Span: Span{3, 4}}).At(0, 1); span != (Span{3, 4}) {
		t.Errorf("a text without a source is at %v", span)
	}
}

// The span of the first value that is not the root must be the mark.
func TestSpan(t *testing.T) {
	for name, marked := range map[string]string{
		"plain":           "a: «b c» # d\n",
		"plain lines":     "a: «b\n  c» # d\n",
		"single":          "a: «'b''c'»  # d\n",
		"double":          "a: «\"b\\\"c\"»\n",
		"literal":         "a: «|\n  b\n  c»\n\nd: 1\n",
		"literal keep":    "a: «|+\n  b»\n\n\nd: 1\n",
		"literal blanks":  "a: «|+\n  b\n   »\n  \nd: 1\n",
		"literal empty":   "a: «|»\nd: 1\n",
		"literal header":  "a: «>-» # c\n\nd: 1\n",
		"folded":          "a: «>-\n  b\n\n   c»\n",
		"folded crlf":     "a: «>-\r\n  b\r\n\r\n   c»\r\n",
		"list in flow":    "a: «[b, [c], ]» # d\n",
		"list of nothing": "a: «[ ]»\n",
		"flow comment":    "a: «[b # ]\n  ,c # ]\n  ]»\n",
		"map in flow":     "a: «{b: \"}\", c: }»\n",
		"map keys only":   "a: «{b, c}»\n",
		"list":            "a:\n  «- b\n  - c d»\n\nd: 1\n",
		"map":             "a:\n  «b: 1\n  c: 'd'» # e\n\nd: 1\n",
		"alias":           "a: [«&x b», *x]\n",
	} {
		t.Run(name, func(t *testing.T) {
			text, want := unmark(t, marked)
			root, diags := loadMap(NewFile("f.yaml", []byte(text)), graphFile)
			if root == nil {
				t.Fatalf("not read: %v", diags)
			}
			got := root.Fields[0].Value.Span
			if name == "alias" {
				want = Span{strings.Index(text, "b"), strings.Index(text, "b") + 1}
				got = root.Fields[0].Value.Items[1].Span
			}
			if got != want {
				t.Errorf("got %v %q, want %v %q", got, text[got.From:got.To], want, text[want.From:want.To])
			}
		})
	}
}

func FuzzAt(f *testing.F) {
	for _, s := range []string{
		"a: 'b''c'\n", "a: |\n  x\n   y\n\n", "a: >\n  x\n  y\n\n  z\n", "a: \"x\\ty\\u00e9\\\n  z\"\n",
		"- a\n  b\n\n  c\n", "x: &a |-\n  q\n", "a: |2+\n    x\n\n", "{a: [b, 'c'], \"d\": e}", "é: [ü, ä: ö]\r\n", "a:\r\n- |\r\n x\r\n",
		"? a\n: >1\n  b\n c\n", "a: !!str &x\n  b\n   c\n", "a: \"\\ud83d\\ude00\"", "a: >\n\n   \n  b\n   c\n\n  d",
		"!0 &0:0", "!,00000 0", "[&a [b], !!str {c}, *a]",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file := NewFile("f.yaml", []byte("k: \n "+text))
		root, _ := loadMap(file, graphFile)
		if root == nil {
			t.Skip()
		}
		for _, s := range scalars(root) {
			checkMap(t, file, s)
		}
	})
}

// checkMap asserts that a source map has ordered spans inside the scalar, and that all
// bytes except escapes, folds and line breaks are equal to the source.
func checkMap(t *testing.T, file *File, s Text) {
	t.Helper()
	if s.Span.From < 0 || s.Span.To < s.Span.From || s.Span.To > len(file.Src) {
		t.Fatalf("span %v of %q in %d bytes", s.Span, s.Value, len(file.Src))
	}
	d := alignScalar(file.Src, s.Span.From, s.Value)
	if d.wrong {
		t.Fatalf("no exact map of %q in %q", s.Value, file.Src)
	}
	last := s.Span.From
	for i, span := range d.spans {
		if span.From < last || span.To < span.From || span.To > len(file.Src) {
			t.Fatalf("byte %d of %q is at %v behind %d", i, s.Value, span, last)
		}
		last = span.From
		written := file.Src[span.From:span.To]
		if len(written) == 1 && s.Value[i] != '\n' && s.Value[i] != ' ' && written[0] != s.Value[i] {
			t.Fatalf("byte %d of %q is written %q", i, s.Value, written)
		}
	}
}

// The map must be exact for scalars of all styles. FuzzAt would not notice that At
// returns the whole scalar.
func TestMapIsExact(t *testing.T) {
	styles := []yaml.Style{0, yaml.SingleQuotedStyle, yaml.DoubleQuotedStyle, yaml.LiteralStyle, yaml.FoldedStyle}
	texts := []string{
		"a b", "a\nb\n", "a\n\n\nb", "  a\nb\n", "a\n   b\n\n   c\nd\n", "é ü\n日本\n", "'\"\\ #: x", "\n\na\n", "a\n\n", "a \n b\t\n",
		strings.Repeat("long words that are folded by the encoder ", 9),
	}
	for _, style := range styles {
		for _, text := range texts {
			src, err := yaml.Marshal(map[string]*yaml.Node{"k": {Kind: yaml.ScalarNode, Tag: "!!str", Style: style, Value: text}})
			if err != nil {
				t.Fatal(err)
			}
			root, diags := loadMap(NewFile("f.yaml", src), graphFile)
			if root == nil {
				t.Fatalf("%q: %v", src, diags)
			}
			v := root.Fields[0].Value
			if alignScalar(src, v.Text.Span.From, v.Text.Value).wrong {
				t.Errorf("no exact map for %q in %q", v.Text.Value, src)
			}
		}
	}
}
