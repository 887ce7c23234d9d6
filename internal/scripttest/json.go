// Commands of the sessions that look into JSON results and event streams.

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

// commandJSON is `json FILE CHECK...`: FILE (or stdout, stderr) holds one JSON
// value in which every CHECK holds.
//
//	path.to.field=WANT   the field equals WANT
//	path.to.field~REGEXP the field, as text, matches
//	path.to.field        the field is there; with ! it is not
//
// A number in the path is a place in a list. WANT is JSON, else text; a list of
// texts may be written with spaces between them.
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

// commandEvents is `events FILE TYPE CHECK...`: FILE holds JSON lines. A CHECK
// is one of commandJSON; its path leads from a list with that field of every
// event of TYPE: `events stdout node_started node='a b b'`. `count=N` is the
// number of events.
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
				v, _ := field(event, path)
				list = append(list, v)
			}
			doc = list
		}
		if err := checkJSON(doc, rest); err != nil {
			ts.Fatalf("%s: %v\n%s", check, err, ts.ReadFile(args[0]))
		}
	}
}

// splitCheck parts a check into its path and what it says about it.
func splitCheck(check string) (path, rest string) {
	if at := strings.IndexAny(check, "=~"); at >= 0 {
		return check[:at], check[at:]
	}
	return check, ""
}

func checkJSON(doc any, check string) error {
	path, rest := splitCheck(check)
	got, found := field(doc, path)
	switch {
	case !found:
		return fmt.Errorf("there is no %q", path)
	case rest == "":
		return nil
	case rest[0] == '~':
		if text := textOfJSON(got); !regexp.MustCompile(rest[1:]).MatchString(text) {
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
			got, want = joined(list), strings.Join(strings.Fields(words), " ")
		}
	}
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("it is %s", textOfJSON(got))
	}
	return nil
}

func joined(list []any) string {
	words := make([]string, len(list))
	for i, item := range list {
		words[i] = textOfJSON(item)
	}
	return strings.Join(words, " ")
}

func textOfJSON(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	text, _ := json.Marshal(v) // it was JSON before
	return string(text)
}

// field follows a path of names and places; the empty path is the value itself.
func field(v any, path string) (any, bool) {
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
