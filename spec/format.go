// The canonical form of a file: the order of the language's page, two spaces, the
// styles and comments as they were.

package spec

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// ErrUnformattable is the error of Format if the canonical form would lose a comment or a value.
var ErrUnformattable = errors.New("it can't be written in canonical form without losing a comment or a value")

// Format is the canonical form of a graph file, or of another file whose keys are
// given: keys in the order of the language's page, two spaces, a blank line between
// top-level blocks, short maps and lists in one line as they were, quotes only where
// they are needed, comments at what they stand at: above, beside or below it. The
// data stays the same, and formatting twice changes nothing. JSON is returned unchanged.
// The error is an *InvalidError, or wraps ErrUnformattable.
func Format(name string, src []byte, keys []Key) ([]byte, error) {
	file := NewFile(name, src)
	root, found := load(file, "a file to format is a map")
	if root == nil || found.HasErrors() {
		return nil, &InvalidError{Findings: found.Sort()}
	}
	if keys == nil {
		keys = TopKeys()
	}
	if first := bytes.TrimLeft(src, " \t\r\n\ufeff"); len(first) > 0 && first[0] == '{' {
		return src, nil
	}
	out, err := formatted(src, keys)
	if err == nil {
		err = keepsAll(src, out)
	}
	if err != nil {
		return nil, err
	}
	again, err := formatted(out, keys)
	if err != nil || !bytes.Equal(again, out) {
		return nil, ErrUnformattable
	}
	return out, nil
}

func formatted(src []byte, keys []Key) ([]byte, error) {
	doc, _, err := decodeYAML(bytes.NewReader(src))
	if err != nil || doc == nil || len(doc.Content) == 0 {
		return nil, fmt.Errorf("the text can't be read: %w", errors.Join(err, ErrUnformattable))
	}
	lay := layOut(doc)
	if len(lay.places) == 0 {
		return nil, ErrUnformattable
	}
	found := commentsOf(src, lay)
	about := attach(found, lay)
	bare(doc, found)
	(&formatter{}).value(doc.Content[0], &Key{Type: TypeObject, Keys: keys})
	var buf bytes.Buffer
	enc := yaml.NewEncoder(&buf)
	enc.SetIndent(2)
	if err := enc.Encode(doc); err != nil {
		return nil, err
	}
	text, err := about.annotated(buf.Bytes(), layOut(doc))
	if err != nil {
		return nil, err
	}
	return spaced(text), nil
}

// formatter orders keys and takes away quotes that nothing needs.
type formatter struct{}

func (f *formatter) value(n *yaml.Node, k *Key) {
	switch n.Kind {
	case yaml.MappingNode:
		f.mapping(n, k)
	case yaml.SequenceNode:
		var elem *Key
		if k != nil {
			elem = k.Elem
			for i := range k.Forms {
				if k.Forms[i].Type == TypeList {
					elem = k.Forms[i].Elem
				}
			}
		}
		for _, item := range n.Content {
			f.value(item, elem)
		}
	case yaml.ScalarNode:
		f.scalar(n)
	}
}

// scalar drops quotes without which the text is read as the same.
func (f *formatter) scalar(n *yaml.Node) {
	if n.Style&(yaml.FoldedStyle|yaml.LiteralStyle) != 0 && strings.HasPrefix(n.Value, "\n") {
		n.Style = yaml.DoubleQuotedStyle // in a block the library loses the empty line that it begins with
		return
	}
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) == 0 || n.Tag != "!!str" || n.Anchor != "" {
		return
	}
	if !isPlainText(n.Value) {
		return
	}
	n.Style = 0
}

// isPlainText reports whether a text needs no quotes wherever it stands, and looks
// like no other thing to anybody.
func isPlainText(text string) bool {
	if text == "" || strings.TrimSpace(text) != text {
		return false
	}
	if slices.Contains([]string{"false", "no", "null", "off", "on", "true", "yes", "y", "n", "~"}, strings.ToLower(text)) {
		return false
	}
	for i, r := range text {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_'
		if i == 0 && !letter {
			return false
		}
		if !letter && (r < '0' || r > '9') && !strings.ContainsRune(" ./-+*<>=()", r) {
			return false
		}
	}
	return true
}

func (f *formatter) mapping(n *yaml.Node, k *Key) {
	keys, elem := f.keysOf(n, k)
	for i := 0; i+1 < len(n.Content); i += 2 {
		f.value(n.Content[i], nil)
		own := elem
		if at := slices.IndexFunc(keys, func(k Key) bool { return k.Name == n.Content[i].Value }); at >= 0 {
			own = &keys[at]
		}
		f.value(n.Content[i+1], own)
	}
	if len(keys) == 0 || len(n.Content) == 0 {
		return
	}
	type pair struct {
		key, value *yaml.Node
		rank       int
	}
	pairs := make([]pair, 0, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		rank := slices.IndexFunc(keys, func(k Key) bool { return k.Name == n.Content[i].Value })
		if rank < 0 {
			rank = len(keys)
		}
		pairs = append(pairs, pair{n.Content[i], n.Content[i+1], rank})
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return a.rank - b.rank })
	for i, p := range pairs {
		n.Content[2*i], n.Content[2*i+1] = p.key, p.value
	}
}

// keysOf are the keys that a map may have, in order, or what each entry is.
func (f *formatter) keysOf(n *yaml.Node, k *Key) (keys []Key, elem *Key) {
	if k == nil {
		return nil, nil
	}
	switch k.Type {
	case TypeObject:
		return k.Keys, nil
	case TypeMap:
		return nil, k.Elem
	case TypeGraph:
		return language().inner, nil
	case TypeNode:
		return nodeOrder(n), nil
	case TypeOneOf:
		for i := range k.Forms {
			if t := k.Forms[i].Type; t == TypeObject || t == TypeMap {
				return f.keysOf(n, &k.Forms[i])
			}
			if t := k.Forms[i].Type; t == TypeList && k.Forms[i].Elem != nil && n == nil {
				return f.keysOf(n, k.Forms[i].Elem)
			}
		}
	}
	return nil, nil
}

// nodeOrder are the keys of a node: its kind, what it is for, those of the kind, the
// others.
func nodeOrder(n *yaml.Node) []Key {
	kind := ""
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == "kind" {
			kind = n.Content[i+1].Value
		}
	}
	out := []Key{{Name: "kind", Type: TypeEnum}, {Name: "description", Type: TypeString}, {Name: "each", Type: TypeString}, {Name: "max_concurrency", Type: TypeInt}, {Name: "reads", Type: TypeList}}
	if k := findKind(BuiltinKinds(), kind); k != nil {
		out = append(out, k.Keys...)
	}
	for _, k := range nodeKeys() {
		if !slices.ContainsFunc(out, func(o Key) bool { return o.Name == k.Name }) {
			out = append(out, k)
		}
	}
	return out
}

// spaced puts one blank line around top-level blocks of several lines, and none
// between others.
func spaced(text []byte) []byte {
	var out [][]byte
	var blocks [][][]byte // each a top-level key with the comments above it
	var lead [][]byte
	inBlock := false
	for _, line := range bytes.Split(bytes.TrimRight(text, "\n"), []byte("\n")) {
		top := len(line) > 0 && line[0] != ' ' && line[0] != '-'
		comment := top && line[0] == '#'
		switch {
		case comment:
			lead = append(lead, line)
			inBlock = false
		case len(line) == 0 && (!inBlock || len(lead) > 0):
			lead = append(lead, line)
		case top:
			blocks = append(blocks, append(lead, line))
			lead, inBlock = nil, true
		case len(blocks) == 0:
			return text
		default:
			last := len(blocks) - 1
			blocks[last] = append(append(blocks[last], lead...), line)
			lead = nil
		}
	}
	for i, block := range blocks {
		for len(block) > 0 && len(block[0]) == 0 {
			block = block[1:]
		}
		for len(block) > 0 && len(block[len(block)-1]) == 0 {
			block = block[:len(block)-1]
		}
		blocks[i] = block
	}
	for i, block := range blocks {
		if i > 0 && (block[0][0] == '#' || lines(block) > 1 || lines(blocks[i-1]) > 1) {
			out = append(out, nil)
		}
		out = append(out, block...)
	}
	for len(lead) > 0 && len(lead[0]) == 0 {
		lead = lead[1:]
	}
	if len(lead) > 0 {
		out = append(append(out, nil), lead...)
	}
	return append(bytes.Join(out, []byte("\n")), '\n')
}

// lines counts those of a block below the comments above it.
func lines(block [][]byte) int {
	n := len(block)
	for _, line := range block {
		if len(line) > 0 && line[0] != '#' {
			break
		}
		n--
	}
	return n
}

// keepsAll reports what a new form of a text has lost: a value, or a comment.
func keepsAll(before, after []byte) error {
	a, bad := load(NewFile("", before), "")
	if a == nil || bad.HasErrors() {
		return ErrUnformattable
	}
	b, bad := load(NewFile("", after), "")
	if b == nil || bad.HasErrors() || !reflect.DeepEqual(a.Data(), b.Data()) || !sameOrder(a, b, true) {
		return ErrUnformattable
	}
	if !slices.Equal(comments(before), comments(after)) {
		return ErrUnformattable
	}
	return nil
}

// sameOrder reports whether maps of names keep the order that the language gives a
// meaning: nodes, state, and whatever is data.
func sameOrder(a, b *Value, top bool) bool {
	if a.Kind == List {
		for i := range a.Items {
			if !sameOrder(&a.Items[i], &b.Items[i], false) {
				return false
			}
		}
	}
	if a.Kind != Map {
		return true
	}
	for i := range a.Fields {
		name := a.Fields[i].Key.Value
		other := b.Get(name)
		if other == nil || !sameOrder(&a.Fields[i].Value, other, false) {
			return false
		}
		if top && (name == "nodes" || name == "state") {
			for j := range a.Fields[i].Value.Fields {
				if other.Fields[j].Key.Value != a.Fields[i].Value.Fields[j].Key.Value {
					return false
				}
			}
		}
	}
	return true
}

// comments are the texts of those of a text, sorted.
func comments(src []byte) []string {
	doc, _, err := decodeYAML(bytes.NewReader(src))
	if err != nil || doc == nil {
		return nil
	}
	var out []string
	for _, c := range commentsOf(src, layOut(doc)) {
		out = append(out, c.text)
	}
	slices.Sort(out)
	return out
}
