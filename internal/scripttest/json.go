// Commands of sessions that check JSON results and event streams.

package scripttest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// commandJSON implements `json FILE CHECK...`. FILE (or stdout, stderr) must be one JSON value for
// which every CHECK is true:
//
//	path.to.field=WANT   the field equals WANT
//	path.to.field~REGEXP the field, as text, matches
//	path.to.field        the field is there; with ! it is not
//
// A number in the path is an index of a list. WANT is JSON, else text. A list of texts may be written
// with spaces between them.
func commandJSON(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: json FILE CHECK...")
	}
	var doc any
	if err := json.Unmarshal([]byte(ts.ReadFile(args[0])), &doc); err != nil {
		ts.Fatalf("%s is not JSON: %v", args[0], err)
	}
	for _, check := range args[1:] {
		if err := checkJSON(doc, check); (err == nil) == neg {
			ts.Fatalf("%s: %v\n%s", check, err, ts.ReadFile(args[0]))
		}
	}
}

// commandEvents implements `events FILE TYPE CHECK...`. FILE holds one event per line, as JSON. The
// CHECKs are those of commandJSON, applied to the events of TYPE: a field stands for the list of its
// values in these events, as in `events stdout node_started node='a b b'`, and `count=N` checks how
// many events there are.
func commandEvents(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: events FILE TYPE CHECK...")
	}
	var events []any
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		var event map[string]any
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			ts.Fatalf("%s: %v in line %s", args[0], err, line)
		}
		if event["event"] == args[1] {
			events = append(events, event)
		}
	}
	for _, check := range args[2:] {
		path, rest := splitCheck(check)
		var doc any = float64(len(events))
		if path != "count" {
			list := []any{}
			for _, event := range events {
				v, _ := findField(event, path)
				list = append(list, v)
			}
			doc = list
		}
		if err := checkJSON(doc, rest); err != nil {
			ts.Fatalf("%s: %v\n%s", check, err, ts.ReadFile(args[0]))
		}
	}
}

// splitCheck splits a check into its path and its operator with operand.
func splitCheck(check string) (path, rest string) {
	if at := strings.IndexAny(check, "=~"); at >= 0 {
		return check[:at], check[at:]
	}
	return check, ""
}

func checkJSON(doc any, check string) error {
	path, rest := splitCheck(check)
	got, found := findField(doc, path)
	switch {
	case !found:
		return fmt.Errorf("there is no %q", path)
	case rest == "":
		return nil
	case rest[0] == '~':
		if text := formatJSON(got); !regexp.MustCompile(rest[1:]).MatchString(text) {
			return fmt.Errorf("%s does not match", text)
		}
		return nil
	}
	var want any
	if err := json.Unmarshal([]byte(rest[1:]), &want); err != nil {
		want = rest[1:]
	}
	if words, ok := want.(string); ok {
		if list, isList := got.([]any); isList {
			got, want = joinTexts(list), strings.Join(strings.Fields(words), " ")
		}
	}
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("it is %s", formatJSON(got))
	}
	return nil
}

func joinTexts(list []any) string {
	words := make([]string, len(list))
	for i, item := range list {
		words[i] = formatJSON(item)
	}
	return strings.Join(words, " ")
}

func formatJSON(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	text, _ := json.Marshal(v) // it was decoded from JSON
	return string(text)
}

// findField returns the value at a path of names and indexes. The empty path is the value itself.
func findField(v any, path string) (any, bool) {
	if path == "" {
		return v, true
	}
	for _, name := range strings.Split(path, ".") {
		switch in := v.(type) {
		case map[string]any:
			inner, ok := in[name]
			if !ok {
				return nil, false
			}
			v = inner
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(in) {
				return nil, false
			}
			v = in[i]
		default:
			return nil, false
		}
	}
	return v, true
}
