// Hints for people who know other tools.

package spec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/internal/suggest"
)

// findNearest returns the allowed name for a word of another tool, a misspelling or a short form, or "".
func findNearest(word string, allowed []string) string {
	if name := findSynonym(strings.ToLower(word), allowed); name != "" {
		return name
	}
	if name := suggest.Closest(word, allowed); name != "" {
		return name
	}
	found := slices.DeleteFunc(slices.Clone(allowed), func(name string) bool {
		return !strings.HasSuffix(name, "_"+word) && !strings.HasPrefix(name, word+"_")
	})
	if len(found) == 1 {
		return found[0]
	}
	return ""
}

// findSynonym returns the allowed name for a word of another tool, or "".
func findSynonym(word string, allowed []string) string {
	for _, row := range synonyms {
		if hasWord(row.words, word) && slices.Contains(allowed, row.name) && !slices.Contains(allowed, word) {
			return row.name
		}
	}
	return ""
}

func hasWord(words, word string) bool { return strings.Contains(" "+words+" ", " "+word+" ") }

// synonyms maps names of the language to words of other tools.
var synonyms = []struct{ name, words string }{
	// keys of a graph, a node, an edge, a join
	{"graphrun", "version apiversion api_version workflow_version schema_version"},
	{"nodes", "steps tasks states jobs stages"},
	{"edges", "transitions links connections"},
	{"start", "entry entrypoint entry_point start_at startat initial begin"},
	{"finish", "end exit finish_point end_at"},
	{"state", "vars variables inputs params"},
	{"kind", "type uses"},
	{"command", "cmd argv run entrypoint exec"},
	{"script", "run shell_script code bash"},
	{"url", "uri endpoint address"},
	{"prompt", "template question text"},
	{"instructions", "system system_prompt"},
	{"message", "error reason cause"},
	{"each", "foreach for_each map loop matrix with_items"},
	{"timeout", "timeout_seconds time_limit timeout_minutes"},
	{"for", "seconds duration delay"},
	{"wait", "mode type strategy"},
	{"from", "source src"},
	{"to", "target dest destination next"},
	{"when", "if cond expr expression guard"},
	{"max_attempts", "max_retries retries limit count tries"},
	{"initial_interval", "delay interval wait"},
	{"backoff", "backoff_rate multiplier factor"},
	{"max_visits", "max_iterations max_loops"},
	{END, "done exit stop finish finished terminate terminal complete"},
	// kinds of nodes
	{"exec", "shell script command bash run process python"},
	{"llm", "model prompt chat ai completion"},
	{"http", "request api rest webhook https"},
	{"human", "approval manual user input person interrupt"},
	{"wait", "sleep delay timer"},
	{"graph", "subgraph workflow subflow flow"},
	{"pass", "noop router route choice switch condition branch parallel join"},
	{"set", "assign variables transform"},
	{"fail", "throw abort raise"},
	// conditions of edges
	{"on_failure", "error on_error catch failed"},
	{"always", "finally any"},
	{"on_success", "default else succeeded ok"},
	{"conditional", "when if"},
	// types of JSON Schema
	{"string", "str text"},
	{"integer", "int long"},
	{"number", "float double decimal"},
	{"boolean", "bool"},
	{"array", "list tuple"},
	{"object", "dict map struct"},
	{"null", "none nil"},
}

// advice is a sentence to show for some words of other tools.
type advice struct{ words, text string }

// nodeAdvice maps keys of nodes in other tools to advice. OTHER is the key's value, NODE the node.
var nodeAdvice = []advice{
	{"needs depends_on dependson dependencies requires after upstream runs_after", "edges say what runs before a node: {from: OTHER, to: NODE}; join: {wait: all} on the node waits for several"},
	{"next then transitions goto_node to successor downstream on_success edges branches", "edges say what runs next: {from: NODE, to: OTHER}"},
	{"on_failure on_error catch rescue onerror", "edges say what follows a failure: {from: NODE, to: OTHER, condition: on_failure}"},
	{"when if condition only_if run_if", "a condition stands on the edge to the node: {from: other, to: NODE, when: …}"},
	{"parallel_with fan_out fanout", "several edges from a node start branches: {from: NODE, to: [one, two]}"},
	{"retries max_retries max_attempts", "attempts stand under retry: {max_attempts: 3}"},
}

// kindAdvice maps kinds of nodes in other tools to advice.
var kindAdvice = []advice{
	{"join merge barrier gather sync", "a join is a node of any kind that has the key join: {kind: pass, join: {wait: all}}"},
	{"parallel fork fan_out fanout split", "several edges from one node start branches: {from: a, to: [b, c]}"},
	{"choice switch router condition branch if decision", "conditions stand on edges: {from: a, to: b, when: …}"},
	{"loop while foreach for_each map", "an edge back makes a loop, and each: list on a node runs it for every element"},
}

// adviseKey returns advice for an unknown key of a node, or "".
func adviseKey(f *Field, node string) string {
	if f.Value.Get("kind") != nil {
		return fmt.Sprintf("it looks like a node, and is indented too deep: nodes begin in the column of %q", node)
	}
	other := "other"
	isName := func(v *Value) bool { return v.IsScalar() && isID(v.Text.Value) }
	if v := find(append([]Value{f.Value}, f.Value.Items...), isName); v != nil {
		other = v.Text.Value
	}
	return strings.NewReplacer("NODE", node, "OTHER", other).Replace(findAdvice(nodeAdvice, f.Key.Value))
}

// findAdvice returns the advice for a word of another tool, or "".
func findAdvice(rows []advice, word string) string {
	if row := find(rows, func(a *advice) bool { return hasWord(a.words, strings.ToLower(word)) }); row != nil {
		return row.text
	}
	return ""
}

// suggestShape rewrites a value whose shape does not fit its key: `n: string` as {type: string}, 10 as
// 10s, yes as true. It returns "" if the meaning is not clear.
func (d *decoder) suggestShape(k *Key, v *Value) string {
	if !v.IsScalar() || v.Kind == Null {
		return ""
	}
	word := v.Text.Value
	switch k.Type {
	case TypeSchema:
		if name := findSynonym(word, schemaTypes); name != "" {
			word = name
		}
		if slices.Contains(schemaTypes, word) {
			return "{type: " + word + "}"
		}
	case TypeNode:
		if findKind(d.kinds, word) != nil {
			return "{kind: " + word + "}"
		}
	case TypeObject:
		for i := range k.Keys {
			key := &k.Keys[i]
			scratch := &decoder{reporter: reporter{file: d.file}, kinds: d.kinds}
			free := key.Type != TypeEnum && key.Type != TypeDuration && !slices.ContainsFunc(key.Forms, func(f Key) bool { return f.Type == TypeEnum })
			if !hasOutline(key, v) || v.Kind == String && (!isPlainWords(word) || free && len(k.Keys) > 1) {
				continue
			}
			if scratch.checkValue(key, v, subject{}, nil); len(scratch.diags) == 0 {
				return "{" + key.Name + ": " + word + "}"
			}
		}
	case TypeList:
		if k.Elem.Type != TypeObject && v.Kind == String && isPlainWords(word) {
			return "[" + strings.Join(strings.Fields(word), ", ") + "]"
		}
	case TypeBool:
		switch lower := strings.ToLower(word); {
		case hasWord("yes on y 1 true", lower):
			return "true"
		case hasWord("no off n 0 false", lower):
			return "false"
		}
	case TypeInt:
		if _, err := strconv.ParseUint(word, 10, 31); err == nil && v.Kind == String {
			return word
		}
	case TypeDuration:
		if v.Kind == Int && toFloat(v) > 0 {
			return word + "s"
		}
	case TypeOneOf:
		for i := range k.Forms {
			if out := d.suggestShape(&k.Forms[i], v); out != "" {
				return out
			}
		}
	}
	return ""
}

// isPlainWords reports whether the words of a text need no quotes in a list.
func isPlainWords(text string) bool {
	return text != "" && strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 -./_") == ""
}
