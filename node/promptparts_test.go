package node_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/runner"
)

// The model gets parts of values as parts, wherever the prompt uses them.
func TestPartsInPrompts(t *testing.T) {
	const pixel = `{image: "data:image/gif;base64,R0lGODlhAQABAAAAACw="}`
	for name, test := range map[string]struct{ node, want, problem string }{
		"in a text":         {`prompt: "see {{ pic }} well"`, "see |image_url| well", ""},
		"twice":             {`prompt: "{{ pic }}{{ pic }}"`, "image_url|image_url", ""},
		"alone":             {`prompt: "{{ pic }}"`, "image_url", ""},
		"an item":           {`prompt: [see, "{{ pic }}"]`, "see|image_url", ""},
		"a list as an item": {`prompt: [see, "{{ [pic, 'and', pic] }}"]`, "see|image_url|and|image_url", ""},
		"in a text part":    {`prompt: [{text: "see {{ pic }}"}]`, "see |image_url", ""},
		"deep in data":      {`prompt: "rows {{ {'a': [pic]} }}"`, `rows {"a":["[image 1]"]}|image_url`, ""},
		"of messages":       {`messages: "[{'role': 'user', 'content': ['see', pic]}]"`, "see|image_url", ""},
		"in instructions":   {`prompt: hi, instructions: "see {{ pic }}"`, "", `"instructions" holds images`},
		"in the place of a path": {
			`prompt: [{image: "{{ pic }}"}]`, "", "the part image is an object; a path, an address or a data URI is wanted",
		},
	} {
		chat := newChat(t, func(string) string { return "ok" })
		result := runFlow(t, chat, "start: a\nstate: {pic: {default: "+pixel+"}}\nnodes: {a: {kind: llm, "+test.node+"}}\nedges: [{from: a, to: END}]", runner.Options{})
		if test.problem != "" {
			if result.Error == nil || result.Error.Kind != "invalid_input" || !strings.Contains(result.Error.Message, test.problem) || len(chat.requests) > 0 {
				t.Errorf("%s: %v, %d requests", name, result.Error, len(chat.requests))
			}
			continue
		}
		if result.Error != nil {
			t.Errorf("%s: %v", name, result.Error)
			continue
		}
		var got []string
		messages := chat.requests[0].Messages
		list, _ := messages[len(messages)-1].Content.([]any)
		for _, item := range list {
			fields, _ := item.(map[string]any)
			if text, ok := fields["text"]; ok {
				got = append(got, fmt.Sprint(text))
			} else {
				got = append(got, fmt.Sprint(fields["type"]))
			}
		}
		if strings.Join(got, "|") != test.want {
			t.Errorf("%s: %q, want %q", name, strings.Join(got, "|"), test.want)
		}
	}
}
