// Reading a recording.

package cassette

import (
	"encoding/json"
	"fmt"

	"github.com/graphrun/graphrun/internal/bounded"
	"github.com/graphrun/graphrun/spec"
)

// Open reads a recording from a file and starts to play it. The error is one
// of the file system, or a *spec.InvalidError.
func Open(path string) (*Cassette, error) {
	src, err := bounded.ReadFile(path, bounded.Recording)
	if err != nil {
		return nil, err
	}
	return Parse(path, src)
}

// Parse starts to play a recording; name is what messages call it. Recordings
// may be edited. The error is a *spec.InvalidError.
func Parse(name string, src []byte) (*Cassette, error) {
	root, findings := spec.Read(name, src, "a recording is a map with the keys cassette and calls", keys())
	if len(findings) > 0 {
		return nil, &spec.InvalidError{Findings: findings}
	}
	out := &Cassette{name: name, playing: true}
	list := root.Get("calls")
	file := spec.NewFile(name, src)
	for i := range list.Items {
		one, err := read(&list.Items[i])
		if err != nil {
			return nil, &spec.InvalidError{Findings: spec.Diagnostics{{
				File: file, Rule: "invalid-value", Severity: spec.Error, Span: list.Items[i].Span, Message: err.Error(),
			}}}
		}
		out.calls = append(out.calls, one)
	}
	return out, nil
}

// keys is the table of a recording's keys.
func keys() []spec.Key {
	count := func(name string) spec.Key { return spec.Key{Name: name, Type: spec.TypeInt} }
	text := func(name string) spec.Key { return spec.Key{Name: name, Type: spec.TypeString} }
	anything := &spec.Key{Type: spec.TypeAny}
	entry := spec.Key{
		Type: spec.TypeObject,
		Keys: []spec.Key{
			text(modelCall), text(toolCall), text(toolList),
			{Name: "caller", Type: spec.TypeObject, Required: true, Keys: []spec.Key{text("node"), text("place"), text("role"), count("visit"), count("turn")}},
			{Name: "request", Type: spec.TypeMap, Elem: anything, Required: true},
			{Name: "answer", Type: spec.TypeMap, Elem: anything, Required: true},
		},
		Choices: []spec.Choice{{Keys: []string{modelCall, toolCall, toolList}, Required: true}},
	}
	return []spec.Key{
		{Name: "cassette", Type: spec.TypeEnum, Enum: []string{version}, Required: true},
		{Name: "calls", Type: spec.TypeList, Elem: &entry, Required: true},
	}
}

// read makes a call of an entry whose shape is checked.
func read(v *spec.Value) (*call, error) {
	out := &call{}
	for _, what := range []string{modelCall, toolCall, toolList} {
		if name := v.Get(what); name != nil {
			out.id.What, out.id.Name = what, name.Text.Value
		}
	}
	caller, err := encode(v.Get("caller").Data())
	if err == nil {
		err = json.Unmarshal(caller, &out.id.Caller)
	}
	if err == nil {
		out.id.Request, err = encode(v.Get("request").Data())
	}
	if err == nil {
		out.answer, err = encode(v.Get("answer").Data())
	}
	if err != nil {
		return nil, fmt.Errorf("this call can't be read: %w", err)
	}
	return out, nil
}
