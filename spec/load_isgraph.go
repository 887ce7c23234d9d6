// Whether a file is a graph file, without parsing it.

package spec

import (
	"bytes"
	"regexp"
	"slices"
)

var (
	blockKey = regexp.MustCompile(`(?m)^([ \t]*)(?:graphrun[ \t]*:(?:\s|$)|(?:"graphrun"|'graphrun')[ \t]*:)`)
	flowKey  = regexp.MustCompile(`[{,]\s*(?:graphrun|"graphrun"|'graphrun')\s*:`)
)

// IsGraph reports whether a text has "graphrun" among its top-level keys, even if it has
// syntax errors.
func IsGraph(src []byte) bool {
	src = bytes.TrimPrefix(src, []byte(byteOrderMark))
	if !bytes.Contains(src, []byte("graphrun")) {
		return false
	}
	for line := range bytes.Lines(src) {
		text := bytes.TrimLeft(line, " \t\r\n")
		switch {
		case len(text) == 0, text[0] == '#', text[0] == '%', bytes.HasPrefix(line, []byte("---")):
			continue
		case text[0] == '{':
			root, _ := load(NewFile("", src), "")
			return root.Get("graphrun") != nil || root == nil && flowKey.Match(src)
		}
		return slices.ContainsFunc(blockKey.FindAllSubmatchIndex(src, -1), func(at []int) bool { return at[3]-at[2] == len(line)-len(text) })
	}
	return false
}
