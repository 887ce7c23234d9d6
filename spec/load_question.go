// Question marks in texts without quotes inside of brackets, as in
// {prompt: Really?}: YAML 1.2 allows them, the YAML library takes each for the
// sign of a key.

package spec

import (
	"bytes"
	"strings"

	"gopkg.in/yaml.v3"
)

// decodeGraph reads a text like decodeYAML. If that fails it reads the text anew
// with another character for such question marks and puts them back. It returns
// the text that it has read, which is as long.
func decodeGraph(text []byte) (read []byte, doc, next *yaml.Node, err error) {
	doc, next, err = decodeYAML(bytes.NewReader(text))
	if err == nil {
		return text, doc, next, nil
	}
	places := questions(text)
	instead := unused(text)
	if len(places) == 0 || instead == 0 {
		return text, doc, next, err
	}
	read = bytes.Clone(text)
	for _, at := range places {
		read[at] = instead
	}
	if doc, next, err = decodeYAML(bytes.NewReader(read)); err == nil {
		restore(doc, string(instead))
	}
	return read, doc, next, err
}

// questions are the places of question marks inside texts without quotes that
// stand in brackets, up to the first thing that can't be read.
func questions(text []byte) []int {
	if bytes.IndexByte(text, '?') < 0 {
		return nil
	}
	s := &flowScan{src: text}
	s.all(len(text))
	return s.questions
}

// unused is a character that the text does not have, and with which no word
// becomes a number or another constant; 0 when there is none.
func unused(text []byte) byte {
	for _, c := range []byte("^~$;QZJKVWG") {
		if bytes.IndexByte(text, c) < 0 {
			return c
		}
	}
	return 0
}

func restore(n *yaml.Node, instead string) {
	if n.Style&yaml.DoubleQuotedStyle == 0 { // which may have the character by an escape
		n.Value = strings.ReplaceAll(n.Value, instead, "?")
	}
	for _, part := range n.Content {
		restore(part, instead)
	}
}
