package flowdiff

import (
	"encoding/json"
	"testing"
)

func TestSchemaChanges(t *testing.T) {
	for _, c := range []struct {
		before, after string
		changes       int
		narrower      bool
	}{
		{`{"type": "string"}`, `{"type": "string"}`, 0, false},
		{`{"type": "integer"}`, `{"type": "number"}`, 1, false},
		{`{"type": "number"}`, `{"type": "integer"}`, 1, true},
		{`{"type": "string"}`, `{"type": ["string", "null"]}`, 1, false},
		{`{"type": ["string", "null"]}`, `{"type": "string"}`, 1, true},
		{`{}`, `{"type": "string"}`, 1, true},
		{`{"type": "string"}`, `{}`, 1, false},
		{`{"enum": ["a", "b"]}`, `{"enum": ["b", "a", "c"]}`, 1, false},
		{`{"enum": ["a", "b"]}`, `{"enum": ["a"]}`, 1, true},
		{`{"enum": ["a"]}`, `{}`, 1, false},
		{`{"maximum": 3}`, `{"maximum": 4}`, 1, false},
		{`{"maximum": 4}`, `{"maximum": 3.5}`, 1, true},
		{`{"minimum": 4}`, `{"minimum": 3}`, 1, false},
		{`{"minLength": 1}`, `{"minLength": 2}`, 1, true},
		{`{}`, `{"pattern": "^a"}`, 1, true},
		{`{"pattern": "^a"}`, `{"pattern": "^b"}`, 1, true},
		{`{"pattern": "^a"}`, `{}`, 1, false},
		{`{"required": ["a", "b"]}`, `{"required": ["b"]}`, 1, false},
		{`{"required": ["b"]}`, `{"required": ["a", "b"]}`, 1, true},
		{`{"additionalProperties": false}`, `{"additionalProperties": true}`, 1, false},
		{`{}`, `{"additionalProperties": false}`, 1, true},
		{`{"description": "a"}`, `{"description": "b", "title": "t"}`, 2, false},
		{`{"properties": {"a": {"type": "integer"}}}`, `{"properties": {"a": {"type": "number"}, "b": {}}}`, 2, false},
		{`{"properties": {"a": {"type": "number"}}}`, `{"properties": {"a": {"type": "integer"}}}`, 1, true},
		{`{"properties": {"a": {}}}`, `{"properties": {}}`, 1, true},
		{`{"items": {"maximum": 2}}`, `{"items": {"maximum": 1}}`, 1, true},
	} {
		var before, after map[string]any
		for text, into := range map[string]*map[string]any{c.before: &before, c.after: &after} {
			if err := json.Unmarshal([]byte(text), into); err != nil {
				t.Fatal(err)
			}
		}
		if c.before == c.after {
			before = after
		}
		found := compareSchemas(before, after, "")
		narrower := false
		for _, d := range found {
			narrower = narrower || d.narrower
		}
		if len(found) != c.changes || narrower != c.narrower {
			t.Errorf("%s → %s: %v, want %d changes, narrower %v", c.before, c.after, found, c.changes, c.narrower)
		}
	}
}

// A narrower schema is compatible for readers of values; a removed property is not.
func TestWiderSchemas(t *testing.T) {
	for _, c := range []struct {
		before, after string
		wider         bool
	}{
		{`{"type": "integer"}`, `{"type": "number"}`, true},
		{`{"type": "number"}`, `{"type": "integer"}`, false},
		{`{"enum": ["a"]}`, `{"enum": ["a", "b"]}`, true},
		{`{"enum": ["a", "b"]}`, `{"enum": ["a"]}`, false},
		{`{"enum": ["a"]}`, `{}`, true},
		{`{}`, `{"maximum": 3}`, false},
		{`{"maximum": 3}`, `{"maximum": 4}`, true},
		{`{"required": ["a"]}`, `{"required": []}`, true},
		{`{"required": []}`, `{"required": ["a"]}`, false},
		{`{"properties": {"a": {}}}`, `{"properties": {}}`, true},
		{`{"properties": {}}`, `{"properties": {"a": {}}}`, false},
		{`{"items": {"maximum": 2}}`, `{"items": {"maximum": 3}}`, true},
		{`{"additionalProperties": false}`, `{"additionalProperties": true}`, false},
		{`{"description": "a"}`, `{"description": "b"}`, false},
	} {
		var before, after map[string]any
		for text, into := range map[string]*map[string]any{c.before: &before, c.after: &after} {
			if err := json.Unmarshal([]byte(text), into); err != nil {
				t.Fatal(err)
			}
		}
		wider := false
		for _, d := range compareSchemas(before, after, "") {
			wider = wider || d.wider
		}
		if wider != c.wider {
			t.Errorf("%s → %s: wider %v", c.before, c.after, wider)
		}
	}
}
