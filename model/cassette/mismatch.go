// How a call differs from the recorded ones.

package cassette

import (
	"cmp"
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

// differences lists paths whose values differ, those of the caller first.
func differences(recorded, made *call) []string {
	fields := func(c *call) any {
		return map[string]any{c.Kind: c.Name, "place": c.Caller.Place, "visit": c.Caller.Visit, "turn": c.Caller.Turn}
	}
	out := append(compareLeaves(fields(recorded), fields(made)), compareLeaves(recorded.Request, made.Request)...)
	if more := len(out) - maxDifferences; more > 0 {
		out = append(out[:maxDifferences], fmt.Sprintf("and %d more", more))
	}
	return out
}

func compareLeaves(recorded, made any) (out []string) {
	was, is := map[string]any{}, map[string]any{}
	addLeaves(was, "", recorded)
	addLeaves(is, "", made)
	paths := slices.AppendSeq(slices.Collect(maps.Keys(was)), maps.Keys(is))
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		before, had := was[path]
		after, has := is[path]
		switch {
		case !had:
			out = append(out, fmt.Sprintf("%s is new: %s", path, quote(after, nil)))
		case !has:
			out = append(out, path+" is gone")
		case before != after:
			out = append(out, fmt.Sprintf("%s was %s, is %s", path, quote(before, after), quote(after, before)))
		}
	}
	return out
}

// addLeaves adds the scalars of plain data, and empty lists and objects as texts, by
// their paths.
func addLeaves(out map[string]any, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			addLeaves(out, strings.TrimPrefix(path+"."+key, "."), value)
		}
		if len(v) == 0 {
			out[path] = "{}"
		}
	case []any:
		for i, value := range v {
			addLeaves(out, fmt.Sprintf("%s[%d]", path, i), value)
		}
		if len(v) == 0 {
			out[path] = "[]"
		}
	default:
		out[path] = v
	}
}

// quote returns a value for a message: of a long text, the part that begins to differ
// from another.
func quote(v, other any) string {
	const most, before = 60, 15
	text, isText := v.(string)
	if !isText {
		return eval.ResultText(v)
	}
	otherText, _ := other.(string)
	same := 0
	for same < min(len(text), len(otherText)) && text[same] == otherText[same] {
		same++
	}
	if len(text) > most && same > before {
		text = "…" + strings.ToValidUTF8(text[same-before:], "")
	}
	return fmt.Sprintf("%q", eval.Shorten(text, most))
}
