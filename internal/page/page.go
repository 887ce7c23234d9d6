// Package page holds the page that shows flows and runs, and writes it with its data as one
// HTML file. Its source is in web; `make page` builds the embedded files.
package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed" // for the built files
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html"
	"io"
)

//go:embed dist/page.js
var script string

//go:embed dist/page.css
var style string

// plainBytes bounds the data that a file holds uncompressed.
const plainBytes = 256 << 10

// Write writes a page as one self-contained file, whose content policy forbids loading anything
// else. data is JSON as described in web/src/data.ts. It returns errors of the writer.
func Write(w io.Writer, title string, data []byte) error {
	kind, body := "application/json", bytes.ReplaceAll(data, []byte("<"), []byte(`\u003c`))
	if len(data) > plainBytes {
		kind, body = "application/gzip", compress(data)
	}
	policy := fmt.Sprintf(`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src '%s'; style-src '%s'; img-src data:; base-uri 'none'; form-action 'none'">
`, digest(script), digest(style))
	scripts := fmt.Sprintf(`<script type="%s" id="data">%s</script>
<script>%s</script>`, kind, body, script)
	return writePage(w, title, policy, "<style>"+style+"</style>", scripts)
}

// WriteLive writes the page that gets its data from a server. Its script and style are Assets
// of the server.
func WriteLive(w io.Writer, title string) error {
	link := fmt.Sprintf(`<link rel="stylesheet" href="/assets/%s">`, assetName(style, ".css"))
	return writePage(w, title, "", link, fmt.Sprintf(`<script src="/assets/%s"></script>`, assetName(script, ".js")))
}

// writePage writes a page around the elements of its policy, style and scripts.
func writePage(w io.Writer, title, policy, style, scripts string) error {
	_, err := fmt.Fprintf(w, `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
%s<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>%s</title>
<link rel="icon" href="data:,">
%s
</head>
<body>
<div id="page"></div>
<noscript>This page draws itself with JavaScript, which is off.</noscript>
%s
</body>
</html>
`, policy, html.EscapeString(title), style, scripts)
	return err
}

// Asset returns the text and media type of a file that WriteLive refers to, or "". The name
// changes with the text.
func Asset(name string) (text, kind string) {
	switch name {
	case assetName(script, ".js"):
		return script, "text/javascript; charset=utf-8"
	case assetName(style, ".css"):
		return style, "text/css; charset=utf-8"
	}
	return "", ""
}

func assetName(text, ext string) string {
	sum := sha256.Sum256([]byte(text))
	return "page-" + hex.EncodeToString(sum[:8]) + ext
}

// digest returns the source expression of an inline script or style in a content policy.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

func compress(data []byte) []byte {
	var out bytes.Buffer
	to64 := base64.NewEncoder(base64.StdEncoding, &out)
	zip, _ := gzip.NewWriterLevel(to64, gzip.BestCompression) // the level exists
	// Writing to memory can't fail.
	_, _ = zip.Write(data)
	_ = zip.Close()
	_ = to64.Close()
	return out.Bytes()
}
