// The table of keys as topics of `explain`.

package spec

import "strings"

// Topic is a kind of node, or a key of the language at one path.
type Topic struct {
	// Path locates the key: "limits.max_steps", "nodes.*.join.wait", "edges[].when". It is "" for a kind.
	Path string `json:"path,omitempty"`
	// Kind is the kind of node that has the key, or "" for all kinds and for keys outside of nodes.
	Kind string `json:"kind,omitempty"`
	// Name is the last name of the key, or the name of the kind.
	Name string `json:"name"`
	// Value describes the values of the key. Default says what its absence means.
	Value    string `json:"value,omitempty"`
	Default  string `json:"default,omitempty"`
	Required bool   `json:"required,omitempty"`
	Doc      string `json:"doc"`
	// Keys are the keys of the kind, or of the value if it is a map. Choices lists keys that exclude each other.
	Keys    []Topic  `json:"keys,omitempty"`
	Choices []string `json:"choices,omitempty"`
}

// Topics returns the kinds of nodes, then all keys in the order of the table, once for each path.
func Topics(opts Options) []Topic {
	var out []Topic
	kinds := mergeKinds(opts.Kinds)
	for _, k := range kinds {
		t := Topic{Kind: k.Name, Name: k.Name, Doc: k.Doc}
		t.addKeys("nodes.*", k.Keys, k.Choices)
		out = append(out, t)
	}
	out = append(out, listTopics("", "", TopKeys)...)
	kind := Key{Name: "kind", Type: TypeEnum, Enum: listKindNames(kinds), Required: true, Doc: "The kind of the node."}
	every := append([]Key{kind}, NodeKeys...)
	for i := range out {
		if out[i].Path == "nodes" {
			out[i].addKeys("nodes.*", every, nil)
		}
	}
	out = append(out, listTopics("nodes.*", "", every)...)
	for _, k := range kinds {
		out = append(out, listTopics("nodes.*", k.Name, k.Keys)...)
	}
	return out
}

// listTopics returns the topics of some keys and of those below them.
func listTopics(path, kind string, keys []Key) (out []Topic) {
	for i := range keys {
		t := newTopic(path, &keys[i])
		t.Kind = kind
		var below []Topic
		visitMaps(t.Path, &keys[i], func(path string, inner *Key) {
			t.addKeys(path, inner.Keys, inner.Choices)
			below = append(below, listTopics(path, kind, inner.Keys)...)
		})
		out = append(append(out, t), below...)
	}
	return out
}

func newTopic(path string, k *Key) Topic {
	return Topic{Path: strings.TrimPrefix(path+"."+k.Name, "."), Name: k.Name, Value: describeKey(k), Default: k.Default, Required: k.Required, Doc: k.Doc}
}

func (t *Topic) addKeys(path string, keys []Key, choices []Choice) {
	for i := range keys {
		t.Keys = append(t.Keys, newTopic(path, &keys[i]))
	}
	for _, c := range choices {
		how := "at most one"
		if c.Required {
			how = "exactly one"
		}
		t.Choices = append(t.Choices, how+" of "+strings.Join(c.Keys, ", "))
	}
}

// visitMaps calls f for each map in the values of a key that has a table of keys.
func visitMaps(path string, k *Key, f func(path string, inner *Key)) {
	switch k.Type {
	case TypeObject, TypeSchema:
		if len(k.Keys) > 0 {
			f(path, k)
		}
	case TypeList:
		visitMaps(path+"[]", k.Elem, f)
	case TypeMap:
		visitMaps(path+".*", k.Elem, f)
	case TypeOneOf:
		for i := range k.Forms {
			if k.Forms[i].Type != TypeList { // its elements have the form that precedes it
				visitMaps(path, &k.Forms[i], f)
			}
		}
	}
}
