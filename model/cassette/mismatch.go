// Why a call is not in a recording.

package cassette

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// mostDifferences bounds what a message lists.
const mostDifferences = 4

// mismatch says how a call differs from the one recorded that is nearest to
// it: of the same node and visit before the same node, unused before used.
func (c *Cassette) mismatch(id identity) string {
	who := fmt.Sprintf("%s: the call of %s by node %q, role %q, visit %d, turn %d", c.name, describe(id), cmp.Or(id.Caller.Place, id.Caller.Node), id.Caller.Role, id.Caller.Visit, id.Caller.Turn)
	if id.Caller.Role == "" {
		who = fmt.Sprintf("%s: the call of %s by node %q, visit %d", c.name, describe(id), cmp.Or(id.Caller.Place, id.Caller.Node), id.Caller.Visit)
	}
	nearest, score := (*call)(nil), 0
	for _, recorded := range c.calls {
		if s := nearness(recorded, id); s > score {
			nearest, score = recorded, s
		}
	}
	const remedy = "; record again"
	switch {
	case nearest == nil:
		return who + " was not recorded, nor any other of this node" + remedy
	case nearest.id.equals(id):
		return who + " was recorded, but less often than it is made" + remedy
	}
	return who + " is not the one recorded: " + strings.Join(differences(nearest.id, id), "; ") + remedy
}

func describe(id identity) string {
	switch id.What {
	case modelCall:
		return id.Name
	case toolCall:
		return fmt.Sprintf("the tool %q", id.Name)
	}
	return "the list of tools"
}

func nearness(recorded *call, id identity) int {
	r := recorded.id
	if r.What != id.What || r.Caller.Node != id.Caller.Node || r.Caller.Role != id.Caller.Role {
		return 0
	}
	score := 1
	for bit, same := range []bool{!recorded.used, r.Name == id.Name, r.Caller.Place == id.Caller.Place, r.Caller.Turn == id.Caller.Turn, r.Caller.Visit == id.Caller.Visit, r.equals(id)} {
		if same {
			score += 2 << bit
		}
	}
	return score
}

// differences lists what is not equal, by path.
func differences(recorded, now identity) []string {
	var out []string
	if recorded.Name != now.Name {
		out = append(out, fmt.Sprintf("%s was recorded", describe(recorded)))
	}
	if recorded.Caller.Place != now.Caller.Place {
		out = append(out, fmt.Sprintf("place was %q", recorded.Caller.Place))
	}
	if recorded.Caller.Visit != now.Caller.Visit {
		out = append(out, fmt.Sprintf("visit was %d", recorded.Caller.Visit))
	}
	if recorded.Caller.Turn != now.Caller.Turn {
		out = append(out, fmt.Sprintf("turn was %d", recorded.Caller.Turn))
	}
	was, _ := decode(recorded.Request) // both were written by encode
	is, _ := decode(now.Request)
	out = append(out, compare("", was, is)...)
	if more := len(out) - mostDifferences; more > 0 {
		out = append(out[:mostDifferences], fmt.Sprintf("and %d more", more))
	}
	return out
}

// compare lists the places where two values differ, in the order of the keys.
func compare(path string, was, is any) []string {
	switch was := was.(type) {
	case map[string]any:
		if is, ok := is.(map[string]any); ok {
			return compareMaps(path, was, is)
		}
	case []any:
		if is, ok := is.([]any); ok {
			return compareLists(path, was, is)
		}
	default:
		if was == is {
			return nil
		}
	}
	return []string{fmt.Sprintf("%s was %s, is %s", cmp.Or(path, "the request"), short(was, is), short(is, was))}
}

func compareMaps(path string, was, is map[string]any) []string {
	var out []string
	names := slices.Concat(slices.Collect(maps.Keys(was)), slices.Collect(maps.Keys(is)))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		at := strings.TrimPrefix(path+"."+name, ".")
		before, had := was[name]
		after, has := is[name]
		switch {
		case !had:
			out = append(out, fmt.Sprintf("%s is new: %s", at, short(after, nil)))
		case !has:
			out = append(out, fmt.Sprintf("%s is gone", at))
		default:
			out = append(out, compare(at, before, after)...)
		}
	}
	return out
}

func compareLists(path string, was, is []any) []string {
	var out []string
	for i := range min(len(was), len(is)) {
		out = append(out, compare(fmt.Sprintf("%s[%d]", path, i), was[i], is[i])...)
	}
	if len(was) != len(is) {
		out = append(out, fmt.Sprintf("%s had %d items, has %d", path, len(was), len(is)))
	}
	return out
}

// short is a value in a message; of a long text the part where it begins to
// differ from another.
func short(v, other any) string {
	const most, before = 60, 15
	text, isText := v.(string)
	if !isText {
		encoded, _ := json.Marshal(v) // it came from JSON
		text = string(encoded)
	}
	runes := []rune(text)
	if start := commonPrefix(runes, other) - before; isText && len(runes) > most && start > 0 {
		runes = append([]rune("…"), runes[start:]...)
	}
	if len(runes) > most {
		runes = append(runes[:most:most], '…')
	}
	if isText {
		return fmt.Sprintf("%q", string(runes))
	}
	return string(runes)
}

func commonPrefix(runes []rune, other any) int {
	text, _ := other.(string)
	n := 0
	for _, r := range text {
		if n >= len(runes) || runes[n] != r {
			break
		}
		n++
	}
	return n
}
