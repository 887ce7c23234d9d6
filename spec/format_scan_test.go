package spec

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// comments returns the texts of the comments in a file, sorted. It looks at each byte outside of
// scalars.
func comments(src []byte) (out []string) {
	docs, _, err := readYAML(src)
	if err != nil || len(docs) == 0 || len(docs[0].Content) == 0 {
		return nil
	}
	f := &formatter{converter: &converter{reporter: reporter{file: NewFile("", src)}}}
	scalars := map[int]*yaml.Node{} // by offset
	var addScalars func(n *yaml.Node)
	addScalars = func(n *yaml.Node) {
		if at := f.span(n); n.Kind == yaml.ScalarNode && at.To > at.From {
			scalars[at.From] = n
		}
		if n.Kind != yaml.AliasNode {
			for _, part := range n.Content {
				addScalars(part)
			}
		}
	}
	addScalars(docs[0].Content[0])
	until := -1 // the end of the current block text
	for at := 0; at < len(src); at++ {
		if n := scalars[at]; n != nil && !isBlockText(n) {
			at = f.span(n).To - 1
			continue
		} else if n != nil {
			until = f.span(n).To
		}
		switch {
		case src[at] == '#':
			end := lineEnd(src, at)
			out = append(out, strings.TrimRight(string(src[at:end]), " \t\r"))
			at = end - 1
		case src[at] == '\n' && until >= 0:
			at = max(at, until-1)
			until = -1
		}
	}
	slices.Sort(out)
	return out
}
