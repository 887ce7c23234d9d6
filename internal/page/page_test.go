package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"regexp"
	"strings"
	"testing"
)

func written(t *testing.T, title, data string) string {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, title, []byte(data)); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestWrite checks that a page holds the given data, which can't close its element.
func TestWrite(t *testing.T) {
	data := `{"a":"</script><script>alert(1)</script><!-- "}`
	html := written(t, `<b>"title"</b>`, data)
	if strings.Count(html, "<script") != 2 || strings.Count(html, "</script>") != 2 {
		t.Error("the data opens or ends a script")
	}
	if !strings.Contains(html, "<title>&lt;b&gt;&#34;title&#34;&lt;/b&gt;</title>") {
		t.Error("the title is not escaped")
	}
	found := regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`).FindStringSubmatch(html)
	if found == nil {
		t.Fatal("no data")
	}
	var got, want any
	if json.Unmarshal([]byte(found[1]), &got) != nil || json.Unmarshal([]byte(data), &want) != nil || got.(map[string]any)["a"] != want.(map[string]any)["a"] {
		t.Errorf("the data is %s", found[1])
	}
}

// TestCompressed checks that large data is compressed without loss.
func TestCompressed(t *testing.T) {
	data := `["` + strings.Repeat("all work and no play ", plainBytes/20) + `"]`
	html := written(t, "t", data)
	found := regexp.MustCompile(`type="application/gzip" id="data">([A-Za-z0-9+/=]*)<`).FindStringSubmatch(html)
	if found == nil {
		t.Fatal("no data")
	}
	zip, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(found[1])))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(zip); err != nil || string(got) != data {
		t.Errorf("%v: %d bytes of %d come back", err, len(got), len(data))
	}
	if again := written(t, "t", data); again != html {
		t.Error("the same data gives other bytes")
	}
}

// TestPolicy checks that the policy allows the page's own script and no request, and that the
// page makes none.
func TestPolicy(t *testing.T) {
	html := written(t, "t", "{}")
	policy := regexp.MustCompile(`http-equiv="Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(html)
	if policy == nil || !strings.HasPrefix(policy[1], "default-src 'none'; ") || strings.Contains(policy[1], "unsafe") {
		t.Fatalf("the policy is %q", policy)
	}
	for tag, element := range map[string]string{"script-src": `(?s)<script>(.*?)</script>`, "style-src": `(?s)<style>(.*?)</style>`} {
		body := regexp.MustCompile(element).FindStringSubmatch(html)
		if body == nil || len(body[1]) < 1000 {
			t.Fatalf("%s: what is built is missing", tag)
		}
		sum := sha256.Sum256([]byte(body[1]))
		if !strings.Contains(policy[1], tag+" 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'") {
			t.Errorf("%s does not name what is in the page", tag)
		}
	}
	// The script sends requests to the server that serves it. In a file the policy forbids
	// them, and TestPages checks that the script does not try.
	if asks := regexp.MustCompile(`(src|href)=["']?(https?:)?//|url\([^#]|@import|XMLHttpRequest|WebSocket|import\(`).FindAllString(html, -1); asks != nil {
		t.Errorf("the page may ask for more: %q", asks)
	}
	if len(html) > 200<<10 {
		t.Errorf("a page without data has %d bytes", len(html))
	}
}

// TestLive checks that the served page refers to existing assets and has no inline script.
func TestLive(t *testing.T) {
	var out bytes.Buffer
	if err := WriteLive(&out, "<b>"); err != nil {
		t.Fatal(err)
	}
	html := out.String()
	if strings.Contains(html, "<b>") || regexp.MustCompile(`<script>|<style>|style=|onload=`).MatchString(html) {
		t.Errorf("the page is\n%s", html)
	}
	names := regexp.MustCompile(`/assets/([^"]+)"`).FindAllStringSubmatch(html, -1)
	if len(names) != 2 {
		t.Fatalf("it names %v", names)
	}
	for _, name := range names {
		if text, kind := Asset(name[1]); len(text) < 1000 || kind == "" {
			t.Errorf("%s has %d bytes of %q", name[1], len(text), kind)
		}
	}
	if text, _ := Asset("../page.go"); text != "" {
		t.Error("a file that is no part of the page is given out")
	}
}
