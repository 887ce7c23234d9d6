// How a call differs from the recorded ones.

package cassette

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
)

// maxDifferences bounds what a message lists.
const maxDifferences = 4

// mismatch says how a call differs from the nearest recorded one.
func (c *Cassette) mismatch(made *call) string {
	who := fmt.Sprintf("%s: the call of %s by node %q, visit %d", c.name, describe(made), cmp.Or(made.Caller.Place, made.Caller.Node), made.Caller.Visit)
	if made.Caller.Role != "" {
		who += fmt.Sprintf(", role %q, turn %d", made.Caller.Role, made.Caller.Turn)
	}
	nearest, best := (*call)(nil), 0
	for _, recorded := range c.calls {
		if n := rankCall(recorded, made); n > best {
			nearest, best = recorded, n
		}
	}
	const remedy = "; record again"
	switch {
	case nearest == nil:
		return who + " was not recorded, nor any other of this node" + remedy
	case nearest.equals(made):
		return who + " was recorded, but less often than it is made" + remedy
	}
	return who + " is not the one recorded: " + strings.Join(differences(nearest, made), "; ") + remedy
}

func describe(c *call) string {
	switch c.Kind {
	case modelCall:
		return c.Name
	case toolCall:
		return fmt.Sprintf("the tool %q", c.Name)
	}
	return "the list of tools"
}

// rankCall returns how similar a recorded call is to one that was made, 0 for another node.
func rankCall(r, made *call) int {
	if r.Kind != made.Kind || r.Caller.Node != made.Caller.Node || r.Caller.Role != made.Caller.Role {
		return 0
	}
	score := 1
	for bit, same := range []bool{!r.used, r.Name == made.Name, r.Caller.Place == made.Caller.Place, r.Caller.Turn == made.Caller.Turn, r.Caller.Visit == made.Caller.Visit, r.equals(made)} {
		if same {
			score += 2 << bit
		}
	}
	return score
}

// differences lists paths whose values differ, the caller's first.
func differences(recorded, made *call) []string {
	var out []string
	compare := func(was, is map[string]any) {
		paths := slices.AppendSeq(slices.Collect(maps.Keys(was)), maps.Keys(is))
		slices.Sort(paths)
		for _, path := range slices.Compact(paths) {
			before, had := was[path]
			after, has := is[path]
			switch {
			case !had:
				out = append(out, fmt.Sprintf("%s is new: %s", path, short(after, nil)))
			case !has:
				out = append(out, path+" is gone")
			case before != after:
				out = append(out, fmt.Sprintf("%s was %s, is %s", path, short(before, after), short(after, before)))
			}
		}
	}
	of := func(c *call) map[string]any {
		return map[string]any{c.Kind: c.Name, "place": c.Caller.Place, "visit": c.Caller.Visit, "turn": c.Caller.Turn}
	}
	compare(of(recorded), of(made))
	compare(leaves(recorded), leaves(made))
	if more := len(out) - maxDifferences; more > 0 {
		out = append(out[:maxDifferences], fmt.Sprintf("and %d more", more))
	}
	return out
}

// leaves returns the scalars of a request by their paths.
func leaves(c *call) map[string]any {
	out := map[string]any{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			if len(v) == 0 {
				out[path] = "{}"
			}
			for key, value := range v {
				walk(strings.TrimPrefix(path+"."+key, "."), value)
			}
		case []any:
			if len(v) == 0 {
				out[path] = "[]"
			}
			for i, value := range v {
				walk(fmt.Sprintf("%s[%d]", path, i), value)
			}
		default:
			out[path] = v
		}
	}
	v, _ := eval.ParseJSON(c.Request) // encode wrote it
	walk("", v)
	return out
}

// short returns a value for a message: of a long text, the part that begins to differ
// from another.
func short(v, other any) string {
	const most, before = 60, 15
	text, isText := v.(string)
	if !isText {
		encoded, _ := json.Marshal(v) // it came from JSON
		return string(encoded)
	}
	runes := []rune(text)
	otherText, _ := other.(string)
	same := 0
	for _, r := range otherText {
		if same >= len(runes) || runes[same] != r {
			break
		}
		same++
	}
	if len(runes) > most && same > before {
		runes = append([]rune("…"), runes[same-before:]...)
	}
	if len(runes) > most {
		runes = append(runes[:most:most], '…')
	}
	return fmt.Sprintf("%q", string(runes))
}
