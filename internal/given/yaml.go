// Parsing YAML as plain data.

package given

import (
	"errors"
	"fmt"
	"strconv"

	"gopkg.in/yaml.v3"
)

// maxYAMLValues bounds the values of a document with its aliases expanded.
const maxYAMLValues = 1_000_000

// YAML parses one YAML document into plain data. An empty document is null, dates stay text.
// The error completes a sentence: "is not YAML …".
func YAML(src []byte) (value any, err error) {
	defer func() {
		if r := recover(); r != nil { // yaml.v3 panics on some broken documents
			err = fmt.Errorf("is not YAML: %v", r)
		}
	}()
	var doc yaml.Node
	if err := yaml.Unmarshal(src, &doc); err != nil {
		return nil, fmt.Errorf("is not YAML: %w", err)
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	d := yamlDecoder{left: maxYAMLValues}
	return d.value(doc.Content[0], 0)
}

type yamlDecoder struct{ left int }

func (d *yamlDecoder) value(n *yaml.Node, depth int) (any, error) {
	if d.left--; d.left < 0 {
		return nil, errors.New("is not usable: its aliases expand to too many values")
	}
	if depth > 100 {
		return nil, fmt.Errorf("line %d: is nested deeper than 100 levels", n.Line)
	}
	switch n.Kind {
	case yaml.AliasNode:
		return d.value(n.Alias, depth+1)
	case yaml.SequenceNode:
		out := make([]any, 0, len(n.Content))
		for _, c := range n.Content {
			v, err := d.value(c, depth+1)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		return out, nil
	case yaml.MappingNode:
		return d.object(n, depth)
	case yaml.ScalarNode:
		return scalar(n)
	}
	return nil, fmt.Errorf("line %d: is no value", n.Line)
}

func (d *yamlDecoder) object(n *yaml.Node, depth int) (any, error) {
	out := make(map[string]any, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
			return nil, fmt.Errorf("line %d: a key must be text", key.Line)
		}
		if _, twice := out[key.Value]; twice {
			return nil, fmt.Errorf("line %d: %q is given twice", key.Line, key.Value)
		}
		v, err := d.value(n.Content[i+1], depth+1)
		if err != nil {
			return nil, err
		}
		out[key.Value] = v
	}
	return out, nil
}

func scalar(n *yaml.Node) (any, error) {
	switch n.ShortTag() {
	case "!!null":
		return nil, nil
	case "!!bool":
		var b bool
		err := n.Decode(&b)
		return b, err
	case "!!int":
		for _, base := range []int{10, 0} { // 010 is ten, 0x10 and 0o10 are not
			if i, err := strconv.ParseInt(n.Value, base, 64); err == nil {
				return int(i), nil
			}
		}
		var f float64
		err := n.Decode(&f)
		return f, err
	case "!!float":
		return plainFloat(n)
	}
	return n.Value, nil
}

func plainFloat(n *yaml.Node) (any, error) {
	var f float64
	if err := n.Decode(&f); err != nil {
		return nil, fmt.Errorf("line %d: %w", n.Line, err)
	}
	if f-f != 0 {
		return nil, fmt.Errorf("line %d: %s is no number", n.Line, n.Value)
	}
	return f, nil
}
