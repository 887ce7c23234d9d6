package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/price"
	"github.com/graphrun/graphrun/runner"
)

const pngHead = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"

// formatParts returns parts as "kind type name" or "kind url", one per line.
func formatParts(c content) string {
	var out []string
	for _, p := range c.parts {
		out = append(out, strings.Join(strings.Fields(string(p.Kind)+" "+p.Text+" "+p.Type+" "+p.Name+" "+p.URL), " "))
	}
	return strings.Join(out, "\n")
}

func newPartsDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "flow")
	files := map[string]string{
		"a.png": pngHead, "wrong.jpg": pngHead, "n.md": "# hi", "d.json": "{}", "b.bin": "\x00\x01\x02\xff", "empty": "",
		"x.pdf": "%PDF-1.7 …", "s.wav": "RIFF\x00\x00\x00\x00WAVEfmt ", "s.mp3": "\xff\xfb\x90\x00", "short": "x", "ab": "a\xfb\x90\x00", "../out.png": pngHead,
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../out.png", filepath.Join(dir, "link.png")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func part(key, value string) map[string]any { return map[string]any{key: value} }

func TestContentOf(t *testing.T) {
	dir := newPartsDir(t)
	for _, test := range []struct {
		value       any
		parts, text string
		problem     string
	}{
		{"hi", "", "hi", ""},
		{nil, "", "", ""},
		{[]any{"a", "b"}, "", `["a","b"]`, ""},
		{[]any{part("text", "a"), "b"}, "", "a\nb", ""},
		{map[string]any{"image": "a.png", "id": "7"}, "", `{"id":"7","image":"a.png"}`, ""},
		{map[string]any{"image": "a.png", "file": "n.md"}, "", `{"file":"n.md","image":"a.png"}`, ""},
		{map[string]any{"image": 7}, "", `{"image":7}`, ""},
		{part("image", "a.png"), "image image/png a.png", "[image a.png]", ""},
		{part("image", filepath.Join(dir, "a.png")), "image image/png a.png", "[image a.png]", ""},
		{part("image", "wrong.jpg"), "image image/png wrong.jpg", "[image wrong.jpg]", ""},
		{part("image", "https://example.org/x"), "image https://example.org/x", "[image https://example.org/x]", ""},
		{part("image", "data:image/png;base64,QUJD"), "image image/png", "[image image/png]", ""},
		{[]any{"see", part("file", "n.md"), part("file", "d.json"), part("file", "x.pdf"), part("file", "b.bin")}, "text see\nfile text/markdown n.md\nfile application/json d.json\nfile application/pdf x.pdf\nfile application/octet-stream b.bin", "see\n[file n.md]\n[file d.json]\n[file x.pdf]\n[file b.bin]", ""},
		{map[string]any{"file": "x.pdf", "name": "rules.pdf"}, "file application/pdf rules.pdf", "[file rules.pdf]", ""},
		{[]any{part("audio", "s.wav"), part("audio", "s.mp3")}, "audio audio/wav s.wav\naudio audio/mpeg s.mp3", "[audio s.wav]\n[audio s.mp3]", ""},
		{part("image", "n.md"), "", "", `the part image "n.md": it is text/plain, not image/*`},
		{part("image", "s.wav"), "", "", "it is audio/wav, not image/*"},
		{part("audio", "data:image/png;base64,QUJD"), "", "", "it is image/png, not audio/*"},
		{part("file", "short"), "file text/plain short", "[file short]", ""},
		{part("audio", "ab"), "", "", "not audio/*"},
		{part("file", "https:n.md"), "", "", "there is no such file"}, // an address needs a host
		{part("file", "none"), "", "", "there is no such file"},
		{part("file", "empty"), "", "", "the file is empty"},
		{part("file", ""), "", "", "it is empty"},
		{part("file", "."), "", "", "is a folder"},
	} {
		got, err := readContent(&runner.Task{Dir: dir}, test.value, findAnyFile)
		checkContent(t, test.value, got, err, test.parts, test.text, test.problem)
	}
}

// A tool must not choose which local files a model gets.
func TestResultContent(t *testing.T) {
	dir := newPartsDir(t)
	task := &runner.Task{Dir: dir}
	for _, test := range []struct {
		value any
		parts string // "": the model gets the value as data
	}{
		{[]any{part("text", "a")}, ""},
		{[]any{part("file", "n.md")}, ""},
		{part("file", filepath.Join(dir, "n.md")), ""},
		{part("image", "../out.png"), ""},
		{part("image", filepath.Join(dir, "../out.png")), ""},
		{part("image", "link.png"), ""},
		{part("image", "none.png"), ""},
		{[]any{part("image", "a.png"), part("file", "n.md")}, ""},
		{[]any{"see", part("image", "a.png")}, "text see\nimage image/png a.png"},
		{part("file", "data:application/pdf;base64,QUJD"), "file application/pdf"},
		{part("image", "https://example.org/x"), "image https://example.org/x"},
	} {
		got, err := readResultContent(task, test.value)
		if err != nil || formatParts(got) != test.parts || test.parts == "" && !strings.HasPrefix(got.text, "{") && !strings.HasPrefix(got.text, "[{") {
			t.Errorf("%v: %q, %q, %v", test.value, formatParts(got), got.text, err)
		}
	}
	if _, err := readResultContent(task, part("image", "n.md")); err == nil {
		t.Error("a text is an image")
	}
}

func TestPlainParts(t *testing.T) {
	got, err := convertChatParts([]any{
		map[string]any{"type": "text", "text": "a"},
		map[string]any{"image": "https://x.org/1"},
		"b",
		map[string]any{"type": "image_url", "image_url": map[string]any{"url": "https://x.org/2"}},
		map[string]any{"type": "image_url", "image_url": "https://x.org/3"},
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := readContent(&runner.Task{}, got, findAnyFile)
	if err != nil {
		t.Fatal(err)
	}
	if got := formatParts(c); got != "text a\nimage https://x.org/1\ntext b\nimage https://x.org/2\nimage https://x.org/3" {
		t.Errorf("got %s", got)
	}
	_, err = convertChatParts([]any{map[string]any{"type": "input_file", "file_url": "https://x.org/1"}})
	checkFailure(t, err, "invalid_input", `a part has the type "input_file"; parts are {text}, {image}, {file} and {audio}`)
}

// A value can name only files below the folder of the graph or of the run.
func TestValueContent(t *testing.T) {
	dir := newPartsDir(t)
	task := &runner.Task{Dir: dir}
	const elsewhere = "in the folder of the graph or of the run"
	for _, test := range []struct {
		value                any
		parts, text, problem string
	}{
		{"hi", "", "hi", ""},
		{[]any{1, "a"}, "", `[1,"a"]`, ""},
		{part("text", "a"), "", "a", ""},
		{part("file", "x.pdf"), "file application/pdf x.pdf", "[file x.pdf]", ""},
		{[]any{"see", part("image", filepath.Join(dir, "a.png"))}, "text see\nimage image/png a.png", "see\n[image a.png]", ""},
		{part("image", "https://example.org/x"), "image https://example.org/x", "[image https://example.org/x]", ""},
		{map[string]any{"n": 1, "pic": part("image", "data:image/png;base64,QUJD")}, "text {\"n\":1,\"pic\":\"[image 1]\"}\nimage image/png", "{\"n\":1,\"pic\":\"[image 1]\"}\n[image image/png]", ""},
		{part("image", "../out.png"), "", "", elsewhere},
		{part("image", "link.png"), "", "", elsewhere},
		{part("file", "/etc/hostname"), "", "", elsewhere},
		{[]any{"a", part("file", "none")}, "", "", elsewhere},
	} {
		got, err := readValueContent(task, test.value)
		checkContent(t, test.value, got, err, test.parts, test.text, test.problem)
	}
}

// checkContent compares the content of a value, or its problem, with the expected one.
func checkContent(t *testing.T, value any, got content, err error, parts, text, problem string) {
	t.Helper()
	switch {
	case problem != "":
		checkFailure(t, err, "invalid_input", problem)
	case err != nil:
		t.Errorf("%v: %v", value, err)
	case formatParts(got) != parts || got.text != text:
		t.Errorf("%v: parts %q, text %q", value, formatParts(got), got.text)
	}
}

func TestFetchWithoutName(t *testing.T) {
	for _, named := range []string{"s", "s:", ""} {
		_, err := (&toolkit{}).fetchFromServer(t.Context(), &runner.Task{}, 0, part("resource", named))
		if err == nil || !strings.Contains(err.Error(), "it is named server:uri") {
			t.Errorf("%q: %v", named, err)
		}
	}
}

// A call fails early only for parts that its model certainly refuses.
func TestCheckSize(t *testing.T) {
	known := price.Of("anthropic/claude-3-5-haiku") // holds 200,000 tokens and answers with 8,192
	for _, test := range []struct {
		asked, tokens int
		problem       string
	}{
		{8192, 400_000, ""},
		{8193, 0, "max_tokens is 8193; m answers with at most 8192 tokens"},
		{0, 400_001, "the conversation has about 400001 tokens; m holds 200000"},
	} {
		err := checkSize(modelRef{name: "m"}, &model.Request{MaxTokens: test.asked}, test.tokens, known.BaseRates())
		if (err != nil) != (test.problem != "") || err != nil && !strings.Contains(err.Error(), test.problem) {
			t.Errorf("%d of %d: %v, want %q", test.asked, test.tokens, err, test.problem)
		}
	}
	if err := checkSize(modelRef{name: "m"}, &model.Request{MaxTokens: 1 << 20}, 1<<30, price.Rates{}); err != nil {
		t.Errorf("a model that nobody knows: %v", err)
	}
}
